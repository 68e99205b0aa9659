"""weft.toml: what a configuration says, and everything that is wrong with it."""

from weft.config.check import bounds, check_queries, check_state, load_config, networks
from weft.config.read import Config, QueryConfig, StreamConfig, read_config

__all__ = ["Config", "QueryConfig", "StreamConfig", "bounds", "check_queries", "check_state", "load_config", "networks",
           "read_config"]

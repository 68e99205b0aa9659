"""How the tests start Java: code that runs a few times costs more to compile well than to run badly.

Compiled by the first compiler alone, the differential streams take a third less of Java's time. Without the second one
Java keeps room for 48 MB of compiled code, which Spark fills within a minute, and compiles nothing from then on. Classes
that nobody verifies and a larger room for young objects save another tenth; a Java that does not know that takes it too.
"""

UNVERIFIED = "-XX:+IgnoreUnrecognizedVMOptions -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"
BRIEF = f"-XX:TieredStopAtLevel=1 -XX:ReservedCodeCacheSize=240m -XX:+UseSerialGC {UNVERIFIED}"
# For a session that lives long, with two gigabytes.
LASTING = f"{BRIEF} -Xms1g -Xmn600m"

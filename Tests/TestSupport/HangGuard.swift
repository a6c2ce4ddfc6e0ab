// The one limit of all waits in tests.

/// How long a test waits for what must happen. It guards only against hanging: how fast a machine is, and what
/// else it does, decides no test.
public enum HangGuard {
    public static let seconds = 300.0
    public static let duration = Duration.seconds(seconds)
    public static let milliseconds = Int32(seconds * 1_000)
    /// For the programs that a test starts.
    public static let variables = ["PLUGBOARD_TIMEOUT": "\(Int(seconds))"]
}

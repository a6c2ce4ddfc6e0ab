// The variable that says how long programs wait for a broker's answer, if neither an option nor their own code
// does. A machine that is very busy needs more than the usual time.

/// `PLUGBOARD_TIMEOUT`.
public enum TimeoutVariable {
    public static let name = "PLUGBOARD_TIMEOUT"
    /// The seconds that programs wait without it.
    public static let usualSeconds = 5.0

    /// The seconds that the variable's text says. An unset or empty variable, or one that is no number of
    /// seconds, says nothing: then they are the usual ones. The command refuses such a text.
    public static func seconds(_ text: String?) -> Double {
        text.flatMap(CommandOption.seconds) ?? usualSeconds
    }
}

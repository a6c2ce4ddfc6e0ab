// How a program tells on the bus how it is: an object at `NAME.health`, bound to its connection (SPEC.md,
// section 7). Broker, library and command use the same key and the same words.

/// How a program says it is.
public enum HealthState: String, Sendable, CaseIterable {
    /// It does its work.
    case well
    /// It does a part of its work.
    case degraded
    /// It can't do its work.
    case down
}

/// The report at `NAME.health`.
public enum HealthReport {
    /// Bytes of its message. What is longer is cut.
    public static let messageBytesMax = 1_024
    private static let lastToken = ".health"

    /// All reports.
    public static let pattern = "*" + lastToken

    /// The key of the client that has this name.
    public static func key(of name: String) -> String { ClientName.token(name) + lastToken }

    /// The first token of a report's key: the client's name, as it is spelled there.
    public static func name(in key: String) -> String {
        key.hasSuffix(lastToken) ? String(key.dropLast(lastToken.count)) : key
    }
}

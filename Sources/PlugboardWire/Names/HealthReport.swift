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

    /// The name that the key of a report spells. Of another key, what stands before `.health`.
    public static func name(in key: String) -> String {
        let token = key.hasSuffix(lastToken) ? String(key.dropLast(lastToken.count)) : key
        var (bytes, rest) = ([UInt8](), Array(token.utf8)[...])
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                bytes.append(byte)
                continue
            }
            guard let spelled = UInt8(String(decoding: rest.prefix(2), as: UTF8.self), radix: 16) else {
                return token
            }
            bytes.append(spelled)
            rest = rest.dropFirst(2)
        }
        let name = String(decoding: bytes, as: UTF8.self)
        return ClientName.token(name) == token ? name : token
    }
}

// A call: one client asks, and the client that serves the key answers. These are the types for both
// sides.

import PlugboardMemory
import PlugboardWire

/// Whether a client serves alone, or with others that stand in line.
public enum ServerRole: Sendable {
    /// If another client serves the key, serving fails.
    case only
    /// If another client serves the key, this one stands in line and takes over when that one ends. The closure runs
    /// when this client begins to serve: at once if nobody else does, when it takes over, and again after a
    /// reconnection. It runs like a handler, before those of the calls that come then.
    case spare(_ serves: (@Sendable () async -> Void)? = nil)

    var isSpare: Bool { if case .spare = self { true } else { false } }
}

/// A call as its server sees it.
public struct Call: Sendable, Equatable {
    /// The key that was called.
    public let key: String
    /// The value that the caller sent, if any.
    public let value: JSON?
    /// The caller: a client's name, or `#` and its number.
    public let by: String?
    /// The bus's revision when the call was sent. Writes in the handler name it as their cause. Nil if the
    /// broker is too old to say so.
    public let revision: Int?
    /// The revision that made the caller call, if it named one.
    public let cause: Int?
    /// The number of the call for its answer, and the connection on which that number is valid.
    let id: String
    let greeting: Greeting?

    /// The revision that a write caused by this call names.
    var asCause: Int? { revision ?? cause }

    /// The value as a type of yours.
    /// - Throws: `BusError.undecodable` with the key and the reason.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try (value ?? .null).decode(as: type, for: key)
    }

    init(_ line: ParsedLine, _ bytes: Span<UInt8>, _ greeting: Greeting?) {
        key = bytes.text(line.key) ?? ""
        value = line.value.isEmpty ? nil : JSON(copying: line.value.bytes(of: bytes))
        by = bytes.text(line.by)
        revision = bytes.integer(line.revision)
        cause = bytes.integer(line.cause)
        id = bytes.text(line.call) ?? ""
        self.greeting = greeting
    }
}

/// The error that a server answers with. The caller gets it as `BusError.refused`.
public struct CallError: Error, Equatable, Sendable {
    /// For programs: up to 64 of `a` to `z`, `0` to `9` and `_`, beginning with a letter. Any other code
    /// is sent as `failed`.
    public let code: BusError.Code
    /// For people. Only the first 4,096 characters are sent.
    public let message: String

    public init(_ code: BusError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// The answer for an error that a handler has thrown.
    init(_ error: any Error) {
        switch error {
        case let error as CallError: self = error
        case let error as BusError: self.init(error.code ?? .failed, "\(error)")
        default: self.init(.failed, "\(error)")
        }
    }

    var json: JSON {
        let bytes = Array(code.rawValue.utf8)
        let isLetter: (UInt8) -> Bool = { 0x61...0x7A ~= $0 }
        let isCode =
            bytes.count <= 64 && bytes.first.map(isLetter) == true
            && bytes.allSatisfy { isLetter($0) || 0x30...0x39 ~= $0 || $0 == 0x5F }
        return .object([
            "code": .string(isCode ? code.rawValue : BusError.Code.failed.rawValue),
            "message": .string(String(message.unicodeScalars.prefix(ClientLimits.messageCharactersMax))),
        ])
    }
}

extension BusError.Code {
    /// Nobody serves the key, so nothing was done.
    public static let noProvider: BusError.Code = "no_provider"
    /// The server left before it answered. It may or may not have done something.
    public static let providerGone: BusError.Code = "provider_gone"
    /// The server's handler threw an error that has no code of its own.
    public static let failed: BusError.Code = "failed"
    /// The server can't decode the call's value.
    public static let badRequest: BusError.Code = "bad_request"
    static let timeout: BusError.Code = "timeout"
}

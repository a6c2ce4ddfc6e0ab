// Calls: one client asks, another answers. What both sides see of one.

import PlugboardMemory
import PlugboardWire

/// A call as its server sees it.
public struct Call: Sendable, Equatable {
    /// The name of what to do.
    public let key: String
    /// Whatever the caller sent along.
    public let value: JSON?
    /// Who calls: a client's name, or `#` and its number.
    public let by: String?
    /// The revision that made the caller call, where it named one.
    public let cause: Int?
    /// The name that the answer uses for the call, and the connection on which it is valid.
    let id: String
    let greeting: Greeting?

    /// The value as a type of yours.
    /// - Throws: `BusError.undecodable` with the key and the reason.
    public func decode<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try (value ?? .null).decode(as: type, for: key)
    }

    init(_ line: LinePlaces, _ bytes: Span<UInt8>, _ greeting: Greeting?) {
        key = bytes.text(line.key) ?? ""
        value = line.value.isEmpty ? nil : JSON(copying: line.value.bytes(of: bytes))
        by = bytes.text(line.by)
        cause = bytes.integer(line.cause)
        id = bytes.text(line.call) ?? ""
        self.greeting = greeting
    }
}

/// What a server answers in place of a value. The caller gets it as `BusError.refused`.
public struct CallError: Error, Equatable, Sendable {
    /// For programs: up to 64 of `a` to `z`, `0` to `9` and `_`, a letter first. Any other
    /// is sent as `failed`.
    public let code: BusError.Code
    /// For people.
    public let message: String

    public init(_ code: BusError.Code, _ message: String) {
        self.code = code
        self.message = message
    }

    /// Makes one from an error that a handler has thrown.
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
            "message": .string(message),
        ])
    }
}

extension BusError.Code {
    /// Nobody serves what was called; nothing was done.
    public static let noProvider: BusError.Code = "no_provider"
    /// The server went before it answered; whether it did anything is not known.
    public static let providerGone: BusError.Code = "provider_gone"
    /// A server's handler threw something that has no code of its own.
    public static let failed: BusError.Code = "failed"
    /// A server can't read what the call sent along.
    public static let badRequest: BusError.Code = "bad_request"
    static let timeout: BusError.Code = "timeout"
}

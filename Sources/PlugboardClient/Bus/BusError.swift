// Everything that can go wrong between a program and the bus, with words for a person. It is thrown to
// the caller. A failure that nobody waits for goes to `Bus.onFault` as a `Fault`.

/// Why a request, a subscription or the connection failed.
public enum BusError: Error, Equatable, Sendable {
    /// The broker refused the request. `revision` is that of the key, with `conflict`.
    case refused(code: Code, message: String, hint: String?, revision: Int?)
    /// Nobody answers at the socket. `reason` is the system's.
    case noBroker(path: String, reason: String)
    /// Another user runs the broker there, or made the socket's folder; nothing was sent. Or the user in
    /// `Bus.Options.peer` doesn't exist.
    case untrusted(path: String, reason: String)
    /// A program answers, but it isn't a broker that this library can talk to.
    case notABroker(path: String, reason: String)
    /// The connection broke before or during the request. The broker may or may not have handled the
    /// request, and the bus doesn't send it again.
    case disconnected(reason: String)
    /// No answer came in time. A write may have been made all the same.
    case timedOut(operation: String)
    /// More bytes wait to be written than `Bus.Options.outboxBytesMax` allows.
    case outboxFull(limit: Int)
    /// A sequence was read too slowly: more bytes of events waited than its limit allows.
    case unreadFull(limit: Int)
    /// `close()` was called, or the bus was released.
    case closed
    /// The value doesn't have the type that was asked for.
    case undecodable(key: String, reason: String)
    /// A remote observable was changed before its value had arrived. The change was not sent,
    /// because it would have overwritten the value. Wait for `ready()` first.
    case notReady(key: String, reason: String)
    /// A handler called a key whose calls this bus handles only after that handler. Nothing was sent.
    case waitsForItself(key: String)
    /// The value can't be written as JSON.
    case unencodable(reason: String)
}

extension BusError {
    /// An error code of the broker. Codes that this library doesn't know are kept.
    public struct Code: RawRepresentable, Hashable, Sendable, ExpressibleByStringLiteral {
        public let rawValue: String
        public init(rawValue: String) { self.rawValue = rawValue }
        public init(stringLiteral value: String) { rawValue = value }

        public static let conflict: Code = "conflict"
        public static let notFound: Code = "not_found"
        public static let unknownSub: Code = "unknown_sub"
        public static let badKey: Code = "bad_key"
        public static let badPattern: Code = "bad_pattern"
        public static let forbidden: Code = "forbidden"
        public static let limit: Code = "limit"
        public static let tooLong: Code = "too_long"
        public static let wrongType: Code = "wrong_type"
        public static let stopping: Code = "stopping"
    }

    /// The broker's code if the broker refused; otherwise nil.
    public var code: Code? {
        if case .refused(let code, _, _, _) = self { code } else { nil }
    }

    /// Whether the broker refused because the key's revision is not the expected one.
    public var isConflict: Bool { code == .conflict }
}

extension BusError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .refused(let code, let message, let hint, _):
            "\(code.rawValue): \(message)\(hint.map { " (\($0))" } ?? "")"
        case .noBroker(let path, let reason): "no broker at \(path): \(reason)"
        case .untrusted(_, let reason): reason
        case .notABroker(let path, let reason): "no broker that can be used at \(path): \(reason)"
        case .disconnected(let reason): "disconnected: \(reason)"
        case .timedOut(let operation): "\(operation): no answer in time"
        case .outboxFull(let limit): "more than \(limit) bytes wait to be written"
        case .unreadFull(let limit): "more than \(limit) bytes of events wait to be read"
        case .closed: "the connection was closed"
        case .undecodable(let key, let reason): "the value of \(key) can't be decoded: \(reason)"
        case .notReady(let key, let reason):
            "the value of \(key) had not arrived when it was changed, and \(reason): call ready() first"
        case .waitsForItself(let key):
            "a call of \(key) would wait for the handler that makes it: serve it by serve(concurrently:)"
        case .unencodable(let reason): "the value can't be encoded: \(reason)"
        }
    }
}

/// A failure that nobody waits for: of a pipelined write, of a change of a `RemoteObservable`, or of a
/// value that has the wrong type for an observable.
public struct Fault: Error, Equatable, Sendable, CustomStringConvertible {
    public let error: BusError
    /// The key that it is about, if that is known.
    public let key: String?

    public var description: String {
        key.map { "\($0): \(error)" } ?? "\(error)"
    }
}

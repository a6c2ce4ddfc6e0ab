// The stages of a call, as a trace shows them.

import PlugboardMemory

/// A stage of a call.
enum CallOutcome: Equatable {
    /// It was sent to its server.
    case asked
    /// It waits until a plugin serves its key.
    case held
    case answered
    /// The caller got an error, from the broker or from the server.
    case failed(code: String)
    /// The caller has left.
    case abandoned

    /// Appends `outcome`, the `code` of an error, and how long a call took that is over.
    func append(after nanoseconds: UInt64?, to text: inout ByteBuffer) {
        text.append(#","outcome":""#)
        text.append(name)
        text.append("\"")
        if case .failed(let code) = self {
            text.append(#","code":""#)
            text.append(string: code)
            text.append("\"")
        }
        guard isOver, let nanoseconds else { return }
        text.append(#","microseconds":"#)
        text.append(decimal: nanoseconds / 1000)
    }

    private var isOver: Bool { self != .asked && self != .held }

    private var name: StaticString {
        switch self {
        case .asked: "asked"
        case .held: "held"
        case .answered: "answered"
        case .failed: "failed"
        case .abandoned: "abandoned"
        }
    }
}

// How a command fails: with one of a few statuses, a sentence for the person, and if known, what to
// do instead.

/// The statuses that the program ends with.
enum ExitStatus: Int32, CaseIterable, Sendable {
    case done = 0
    /// The broker refused a request, the work failed, or `status` found something wrong.
    case refused = 1
    /// The command line has a mistake (EX_USAGE of sysexits.h). It is found without a broker.
    case usage = 64
    /// There is no broker, or it went away (EX_UNAVAILABLE).
    case unavailable = 69
    /// The disk under the journal fails (EX_IOERR).
    case inputOutput = 74

    /// The text in `plugboard help`.
    var meaning: String {
        switch self {
        case .done: "done; Ctrl-C ended what runs until then; or nobody reads any more"
        case .refused: "the broker refused it, it failed, or something is wrong (status)"
        case .usage: "the command line has a mistake; nothing was asked of the broker"
        case .unavailable: "there is no broker, it went away or has no plugins; or a part is missing"
        case .inputOutput: "the journal can't be kept any more (broker)"
        }
    }

    /// Each status with its meaning; also that of a program that a signal has ended, as shells tell it.
    static let meanings =
        allCases.map { ("\($0.rawValue)", $0.meaning) } + [
            ("130", "Ctrl-C came before it was done (128 and the signal's number)")
        ]
}

/// Why a command ended early.
struct CommandError: Error, Equatable, Sendable, CustomStringConvertible {
    let status: ExitStatus
    let message: String
    /// Lines that help, each printed beneath the message.
    let hints: [String]

    init(_ status: ExitStatus, _ message: String, hints: [String] = []) {
        self.status = status
        self.message = message
        self.hints = hints
    }

    /// What is wrong was printed already.
    static let told = CommandError(.refused, "")

    var description: String { message }

    static func usage(_ message: String, hint: String? = nil) -> CommandError {
        CommandError(.usage, message, hints: hint.map { [$0] } ?? [])
    }
}

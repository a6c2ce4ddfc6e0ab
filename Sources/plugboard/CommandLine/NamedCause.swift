// The cause that a command's writes name. A command that `serve` or `subscribe --exec` started has it in its
// environment, so that its writes name the event without being told.

import PlugboardPosix
import PlugboardWire

/// The variable with the cause.
enum CauseVariable {
    static let name = "PLUGBOARD_CAUSE"
}

extension Invocation {
    /// `--cause`, or else the revision in the variable; nil if there is neither. An empty variable counts as
    /// unset. Throws a usage error if it isn't a revision.
    func namedCause() throws(CommandError) -> UInt64? {
        if let cause = integer(.cause) { return cause }
        guard let text = SocketPath.variable(CauseVariable.name), !text.isEmpty else { return nil }
        if let fault = CommandOption.cause.fault(of: text) {
            throw .usage("\(CauseVariable.name) \(fault); it was \"\(text)\"")
        }
        return UInt64(text)
    }
}

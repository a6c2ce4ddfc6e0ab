// A request that looks at more keys than others can wait for. It is put off before it has changed anything,
// goes on with some keys in each turn, and is executed again when all were found. Meanwhile, the next lines
// of its client wait, so that replies keep their order.

import PlugboardMemory
import PlugboardWire

/// The reason why a request was put off.
enum WalkWork {
    case keys(KeySearch), snapshot(ValueSnapshot)
}

/// A request that was put off. Owned by `Requests`.
final class Walk {
    let session: SessionHandle
    let request: Request
    /// The number of its line, and the line.
    let number: UInt64
    let line: [UInt8]
    /// What was decoded from the line. While the request is executed, `Requests` has it.
    var decoder = RequestDecoder()
    var work: WalkWork

    init(_ asked: AskedRequest, number: UInt64, _ work: WalkWork) {
        (request, session, self.number, self.work) = (asked.request, asked.session, number, work)
        line = Array(asked.line)
    }
}

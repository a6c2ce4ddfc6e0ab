// What the protocol offers: all operations, or one of them.

import PlugboardMemory
import PlugboardWire

/// `help`.
enum Help {
    static func perform(
        _ asked: AskedRequest,
        _ about: ByteRange,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) throws(Refusal) {
        var operation: Operation?
        if asked.request.has(.about) {
            operation = Operation(about.bytes(of: asked.line))
            if operation == nil { throw unknown(about, asked.line) }
        }
        delivery.openReply(to: asked.session, &sessions)
        ReplyEncoder.appendHelp(about: operation, id: asked.id, to: &sessions[asked.session].outbox.own)
    }

    private static func unknown(_ about: ByteRange, _ line: Span<UInt8>) -> Refusal {
        let word = String(about.bytes(of: line)[..<min(48, about.count)])
        let names = Operation.allCases.map { $0.name.description }.joined(separator: ", ")
        let hint = OperationHelp.hint(for: word) ?? "the operations are \(names)"
        return Refusal(.notFound, "there is no help about \"\(word)\"", hint: hint, at: about.start)
    }
}

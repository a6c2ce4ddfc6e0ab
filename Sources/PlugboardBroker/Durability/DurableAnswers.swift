// Answers durable writes when they are on disk.

import PlugboardJournal
import PlugboardMemory
import PlugboardWire

/// Sends the replies that waited for the disk.
enum DurableAnswers {
    /// Clients that have left get nothing. A client that is behind gets the answer after what it is owed by
    /// `revision`. With a refusal, all of them get that.
    static func send(
        upTo mark: JournalMark,
        _ refusal: Refusal? = nil,
        at revision: UInt64,
        _ durability: inout Durability,
        _ sessions: inout SessionTable,
        _ delivery: inout Delivery
    ) {
        var id = ByteBuffer()
        var sum = ByteBuffer()
        let before = durability.waitingCount
        defer { durability.noteAnswered(before - durability.waitingCount) }
        while let reply = durability.nextReply(upTo: mark, id: &id, sum: &sum) {
            guard let session = sessions.find(slot: Int(reply.slot), client: reply.client) else { continue }
            sessions[session].awaitedWrites -= 1
            guard reply.isTold else {
                delivery.touch(session, &sessions)
                continue
            }
            var line = delivery.takeLine()
            if let refusal {
                ReplyEncoder.appendRefusal(refusal, id: id.bytes, line: sessions[session].line, to: &line)
            } else if sum.isEmpty {
                ReplyEncoder.appendDone(reply.operation, id: id.bytes, revision: reply.revision, to: &line)
            } else {
                ReplyEncoder.appendAdded(id: id.bytes, revision: reply.revision, sum: sum.bytes, to: &line)
            }
            delivery.send(line, to: session, at: revision, &sessions)
        }
    }
}

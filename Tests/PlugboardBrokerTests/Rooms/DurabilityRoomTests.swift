// The room of the journal without a journal's files, with sessions and without a hub.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of the journal", .computing)
struct DurabilityRoomTests {
    private final class Rooms {
        var durability = Durability()
        var sessions = SessionTable()
        let session: SessionHandle

        init(isKept: Bool = true) {
            session = sessions.insert(Session(client: 1, slot: 0))
            guard isKept else { return }
            var records = RecordBuffer()
            records.begin(after: 0)
            durability.begin(records)
        }

        func record(revision: UInt64) {
            let (key, value) = (StaticString("a").bytes, StaticString("1").bytes)
            durability.record(Commit(key: key, revision: revision, value: value, by: Span()))
        }

        func awaitDisk(revision: UInt64, id: String) {
            sessions[session].awaitedWrites += 1
            durability.awaitDisk(
                .publish,
                from: sessions[session],
                isTold: true,
                revision: revision,
                id: Array(id.utf8).span,
                sum: Span()
            )
        }

        func nextReply(upTo mark: JournalMark) -> String? {
            var id = ByteBuffer()
            var sum = ByteBuffer()
            guard durability.nextReply(upTo: mark, id: &id, sum: &sum) != nil else { return nil }
            sessions[session].awaitedWrites -= 1
            return String(id.bytes)
        }

        func broken() -> BrokenInvariant? {
            var living = Living()
            living.sessions = [session]
            do throws(BrokenInvariant) {
                try durability.checkInvariants(living, sessions, Matching())
                return nil
            } catch {
                return error
            }
        }
    }

    @Test("without a journal nothing is durable, and everything has room")
    func noJournal() {
        let rooms = Rooms(isKept: false)
        #expect(!rooms.durability.isKept && rooms.durability.isWritten && rooms.durability.journal == nil)
        #expect(rooms.durability.hasRoom(for: .max / 4) && rooms.durability.hasOwnRoom)
        #expect(throws: Refusal.self) { try rooms.durability.checkDurable(awaited: 0) }
        #expect(rooms.durability.journal?.beginReading(after: 0) == nil)
    }

    @Test("so many durable writes of a client wait as the limit allows, and not one more")
    func limit() throws {
        let rooms = Rooms()
        try rooms.durability.checkDurable(awaited: UInt16(Limits.durablesMax - 1))
        #expect(throws: Refusal.self) {
            try rooms.durability.checkDurable(awaited: UInt16(Limits.durablesMax))
        }
    }

    @Test("replies come in the order of their writes, once the disk has these")
    func replies() {
        let rooms = Rooms()
        rooms.record(revision: 1)
        rooms.awaitDisk(revision: 1, id: "1")
        rooms.record(revision: 2)
        rooms.awaitDisk(revision: 2, id: "\"two\"")
        #expect(rooms.durability.replies.count == 2 && rooms.broken() == nil)
        #expect(rooms.nextReply(upTo: 0) == nil)
        #expect(rooms.nextReply(upTo: 1) == "1" && rooms.nextReply(upTo: 1) == nil)
        #expect(rooms.nextReply(upTo: 2) == "\"two\"" && rooms.broken() == nil)
    }

    @Test("a session that doesn't count its own replies is noticed")
    func miscounted() {
        let rooms = Rooms()
        rooms.awaitDisk(revision: 1, id: "1")
        rooms.sessions[rooms.session].awaitedWrites = 0
        #expect(rooms.broken() != nil)
    }

    @Test("after the disk has failed, nothing is kept, and the bytes of values are still known")
    func lost() {
        let rooms = Rooms()
        rooms.durability.noteGrowth(100)
        rooms.durability.pass(1)
        let isWritten = rooms.durability.isWritten
        #expect(!isWritten)
        rooms.durability.loseJournal()
        #expect(rooms.durability.isWritten && !rooms.durability.isKept && rooms.durability.liveBytes == 100)
    }
}

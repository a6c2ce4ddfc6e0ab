// The room of keys, alone: no hub, no client, no journal.

import PlugboardJournal
import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of keys", .computing)
struct KeyspaceRoomTests {
    /// A room with an author, who is the caller's.
    private final class Room {
        var keyspace = Keyspace(time: .system)
        let author: AuthorHandle

        init() {
            author = keyspace.authors.make(name: StaticString("#7").bytes, presence: Liveness(client: 7))
        }

        @discardableResult
        func set(_ key: String, _ value: String, cause: WriteCause = .none) -> ObservableHandle {
            keyspace.advance()
            let observable = keyspace.findOrInsert(Array(key.utf8).span)
            keyspace.set(observable, Array(value.utf8).span, cause: cause, writer: author)
            remember(.publish, observable)
            return observable
        }

        func delete(_ observable: ObservableHandle) {
            keyspace.advance()
            keyspace.removeValue(of: observable, cause: .none, writer: nil)
            remember(.delete, observable)
        }

        private func remember(_ operation: PlugboardWire.Operation, _ observable: ObservableHandle) {
            keyspace.remember(History.Entry(operation, observable, author, keyspace.revision, .none))
        }

        /// Ends a turn. Nobody needs what the history lets go.
        func endTurn() {
            keyspace.endTurn()
            while let observable = keyspace.takeReleased() {
                if !keyspace[observable].isNeeded { keyspace.remove(observable) }
            }
        }

        func broken() -> BrokenInvariant? {
            do throws(BrokenInvariant) {
                let deadlines = Deadlines()
                try keyspace.checkInvariants(deadlines, [])
                try keyspace.checkAuthors([author])
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(
        "a value is the one that was set last, and what an event tells is borrowed, whatever lengths follow each other",
        arguments: [1, 100, 512, 513, 100_000]
    )
    func lengths(first: Int) {
        let room = Room()
        // The first value is short, so that the next one has no room beside the key.
        let observable = room.set("cart.total", "1")
        let after = Array("3".utf8)
        for length in [first, 1, 24, 25, 100, 510, 511, 512, 513, 5_000, 300, 1, first] {
            let before = room.keyspace.valueText(of: observable)
            for (operation, old) in [(Operation.publish, before), (.emit, "")] {
                let news = WriteEvent(
                    operation, of: observable, 9, to: after.span, by: room.author, .none, nil)
                let told = told(news, room.keyspace)
                #expect(told == ["cart.total", old, ##","by":"#7""##, "3"])
            }
            let value = length < 2 ? "7" : "\"" + String(repeating: "v", count: length - 2) + "\""
            room.set("cart.total", value)
            #expect(room.keyspace.valueText(of: observable) == value)
        }
        room.delete(observable)
        room.set("cart.total", "1")
        #expect(room.keyspace.valueText(of: observable) == "1")
    }

    private func told(_ news: borrowing WriteEvent, _ keyspace: borrowing Keyspace) -> [String] {
        let tail = EventTail(news, keyspace)
        return [String(tail.key), String(tail.old), String(tail.by), String(tail.value)]
    }

    @Test("a key is small, and its memory fits; what few keys have is among the extras while they have it")
    func extras() {
        #expect(MemoryLayout<Observable>.size == 48)
        let room = Room()
        let key = room.set("k", "1")
        func hasExtras() -> Bool {
            room.endTurn()
            #expect(room.broken() == nil)
            return room.keyspace[key].extras != 0
        }
        #expect(!hasExtras())
        for count in [510, 0, 2_000, 600, 0, 8_000, 2_000, 1_000, 0] {
            let value = "\"" + String(repeating: "v", count: count) + "\""
            room.set("k", value)
            #expect(room.keyspace.valueText(of: key) == value && !hasExtras())
        }
        room.set("k", "\(Array(repeating: 0, count: 2_000))")
        room.delete(key)
        #expect(!hasExtras())
        room.set("k", "1", cause: WriteCause(3))
        #expect(room.keyspace.cause(of: key) == WriteCause(3) && hasExtras())
        room.set("k", "2")
        #expect(room.keyspace.cause(of: key) == .none && !hasExtras())
        room.keyspace.set(.expired, of: key)
        #expect(room.keyspace.extras(of: key).reason == .expired && hasExtras())
        room.keyspace.set(nil, of: key)
        #expect(!hasExtras())
    }

    @Test("a snapshot has each value; what a successor is handed apart from that are the latest writes")
    func carried() {
        let room = Room()
        for key in ["a", "b", "c"] { room.set(key, "1") }
        room.set("$broker.stats", "{}")
        let values = CarriedValues(.system)
        let deadlines = Deadlines()
        var (all, old, recent) = (0, 0, 0)
        values.forEach(in: room.keyspace, deadlines) { _ in all += 1 }
        let since = room.keyspace.history.completeSince
        values.forEach(in: room.keyspace, upTo: since, deadlines) { _ in old += 1 }
        values.forEachRemembered(in: room.keyspace, deadlines) { _ in recent += 1 }
        #expect((all, old, recent) == (3, 0, 3))
    }
}

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
            author = keyspace.authors.makeUnnamed(Presence(client: 7))
        }

        @discardableResult
        func set(_ key: String, _ value: String, cause: WriteCause = .none) -> ObservableHandle {
            keyspace.advance()
            let observable = keyspace.findOrInsert(Array(key.utf8).span)
            keyspace.set(observable, Array(value.utf8).span, cause: cause, writer: author)
            keyspace.note(.publish, observable, author, .none)
            return observable
        }

        func delete(_ observable: ObservableHandle) {
            keyspace.advance()
            keyspace.removeValue(of: observable, cause: .none, writer: nil)
            keyspace.note(.delete, observable, author, .none)
            keyspace.keepForHistory(observable)
        }

        /// Ends a turn. Nobody needs what the history lets go.
        func endTurn() {
            keyspace.endTurn()
            while let observable = keyspace.history.takeReleased() {
                if !keyspace[observable].isNeeded { keyspace.remove(observable) }
            }
        }

        func broken() -> BrokenInvariant? {
            do throws(BrokenInvariant) {
                var living = Living()
                let deadlines = Deadlines()
                try KeyspaceInvariants.check(keyspace, &living, deadlines, [])
                try KeyspaceInvariants.checkAuthors(keyspace, living, [author])
                return nil
            } catch {
                return error
            }
        }
    }

    @Test(
        "what an event tells is borrowed from the room, however long the value before",
        arguments: [1, 510, 511, 100_000])
    func borrows(_ count: Int) throws {
        let room = Room()
        let value = "\"" + String(repeating: "v", count: count) + "\""
        // The first value is short, so that the next one has no room beside the key. Up to 512 bytes, it gets
        // some. Longer ones are among the extras.
        let observable = room.set("cart.total", "1")
        room.set("cart.total", value)
        let after = Array("3".utf8)
        for (operation, old) in [(Operation.publish, value), (.emit, "")] {
            let news = News(operation, of: observable, 9, to: after.span, by: room.author, .none, nil)
            let told = told(news, room.keyspace)
            #expect(told == ["cart.total", old, ##","by":"#7""##, "3"])
        }
    }

    private func told(_ news: borrowing News, _ keyspace: borrowing Keyspace) -> [String] {
        let tail = EventTail(news, keyspace)
        return [String(tail.key), String(tail.old), String(tail.by), String(tail.value)]
    }

    @Test("a key with a short value is small; what few keys have is among the extras while they have it")
    func extras() {
        #expect(MemoryLayout<Observable>.size == 48)
        let room = Room()
        let key = room.set("k", "1")
        func hasExtras() -> Bool {
            room.endTurn()
            #expect(room.broken() == nil)
            return room.keyspace.observables.extras(of: key) != .none
        }
        #expect(!hasExtras())
        // The memory of a value up to 1,024 bytes stays for the next one.
        for (count, stays) in [(510, false), (600, true), (2_000, false), (1_000, true)] {
            let value = "\"" + String(repeating: "v", count: count) + "\""
            room.set("k", value)
            #expect(room.keyspace.valueText(of: key) == value && hasExtras() == (count > 510))
            room.set("k", "1")
            #expect(room.keyspace.valueText(of: key) == "1" && hasExtras() == stays)
        }
        room.delete(key)
        #expect(!hasExtras())
        room.set("k", "1", cause: WriteCause(3))
        #expect(room.keyspace.observables.cause(of: key) == WriteCause(3) && hasExtras())
        room.set("k", "2")
        #expect(room.keyspace.observables.cause(of: key) == .none && !hasExtras())
        room.keyspace.set(.expired, of: key)
        #expect(room.keyspace.observables.marks(of: key).reason == .expired && hasExtras())
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

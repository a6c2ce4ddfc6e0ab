// The room of what the broker says of itself, without a hub.

import PlugboardMemory
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("The room of what the broker says of itself", .computing)
struct InsightRoomTests {
    private final class Rooms {
        var keyspace = Keyspace(time: .system)
        var insight: Insight

        init() {
            let name = StaticString("$broker").bytes
            let author = keyspace.makeAuthor(name: name, presence: Presence(client: 0))
            insight = Insight(time: .system, author: author)
        }

        var warnings: String {
            var text = ByteBuffer()
            insight.warnings.append(to: &text)
            return String(text.bytes)
        }
    }

    @Test("work is counted in observers told, whatever it was")
    func effort() {
        let rooms = Rooms()
        rooms.insight.count(events: 3)
        rooms.insight.count(steps: 4)
        rooms.insight.count(received: 5, sent: 6)
        #expect(rooms.insight.effort == 7 && rooms.insight.receivedBytes == 5)
    }

    @Test("a round looks at so many clients in a turn, and goes on only if somebody observes")
    func rounds() {
        let rooms = Rooms()
        let begins = [rooms.insight.beginRounds(), rooms.insight.beginRounds()]
        #expect(begins == [true, false] && rooms.insight.isWatched)
        let all = Round.clientsPerTurn + 1
        let slots = (0..<3).map { rooms.insight.nextSlots(of: all, at: UInt64($0) + 10) }
        #expect(slots == [0..<Round.clientsPerTurn, Round.clientsPerTurn..<all, all..<all])
        let next = rooms.insight.endRound(isObserved: true, at: 20)
        #expect(next == 10 + Round.intervalNanoseconds && rooms.insight.isWatched)
        #expect(rooms.insight.endRound(isObserved: false, at: 30) == nil && !rooms.insight.isWatched)
    }

    @Test("the first write of a group takes a revision, and no other")
    func revisions() {
        let rooms = Rooms()
        rooms.insight.beginWrites()
        let takes = (0..<3).map { _ in rooms.insight.takesRevision() }
        #expect(takes == [true, false, false])
    }

    @Test("a problem of the journal that goes on is one warning, and only the latest are kept")
    func warnings() {
        let rooms = Rooms()
        for moment in 1...2 {
            rooms.insight.warnings.raise(.storage, "full", revision: 1, at: UInt64(moment))
        }
        #expect(rooms.warnings.contains(#""times":2"#) && rooms.insight.warnings.latest.count == 1)
        for number in 1..<Warnings.keptMax {
            rooms.insight.warnings.raise(.storage, "\(number)", revision: 1, at: 3)
        }
        #expect(rooms.insight.warnings.latest.count == Warnings.keptMax && rooms.warnings.contains("full"))
        rooms.insight.warnings.raise(.storage, "one more", revision: 1, at: 4)
        #expect(rooms.insight.warnings.latest.count == Warnings.keptMax && !rooms.warnings.contains("full"))
    }
}

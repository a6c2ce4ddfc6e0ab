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

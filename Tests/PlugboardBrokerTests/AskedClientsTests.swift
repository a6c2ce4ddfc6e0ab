import Testing

@testable import PlugboardBroker

@Suite("Whom the latest calls went to")
struct AskedClientsTests {
    @Test("is known of so many calls, and of none before")
    func limit() {
        var asked = AskedClients(capacity: 4)
        for call in 1...9 as ClosedRange<UInt64> {
            asked.set(100 + call, for: call)
            #expect(asked.wasAsked(100 + call, call))
            for earlier in 1...call {
                #expect(asked.wasAsked(100 + earlier, earlier) == (call - earlier < 4))
                #expect(!asked.wasAsked(99, earlier))
            }
            #expect(!asked.wasAsked(100 + call, call + 1))
        }
        #expect(!asked.wasAsked(0, 0))
    }

    @Test("is who got the call in the end")
    func moved() {
        var asked = AskedClients()
        asked.set(1, for: 1)
        asked.set(1, for: 2)
        asked.set(7, for: 1)
        #expect(asked.wasAsked(7, 1) && !asked.wasAsked(1, 1) && asked.wasAsked(1, 2))
    }
}

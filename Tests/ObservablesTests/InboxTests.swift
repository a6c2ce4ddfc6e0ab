// The queue in front of one observer: who delivers, and when.

import Testing

@testable import Observables

@Suite("an inbox")
struct InboxTests {
    private let heard = Recorder<Int>()

    @Test("a first event is left to the one who put it there, and comes before all others")
    func first() {
        let inbox = Inbox({ [heard] in heard.record($0) }, first: 1)
        inbox.append(2)
        inbox.deliver()
        #expect(heard.all.isEmpty)
        inbox.drain()
        #expect(heard.all == [1, 2])
        inbox.append(3)
        inbox.deliver()
        #expect(heard.all == [1, 2, 3])
    }

    @Test("what is waiting is claimed once")
    func claim() {
        let inbox = Inbox<Int> { [heard] in heard.record($0) }
        #expect(!inbox.claim())
        inbox.append(1)
        #expect(inbox.claim())
        inbox.append(2)
        #expect(!inbox.claim())
        inbox.drain()
        #expect(heard.all == [1, 2])
        #expect(!inbox.claim())
    }

    @Test("a closed one drops what it is owed, and takes nothing more")
    func close() {
        let inbox = Inbox<Int> { [heard] in heard.record($0) }
        inbox.append(1)
        #expect(inbox.close()?.events == [1])
        #expect(inbox.close() == nil)
        #expect(inbox.isClosed)
        inbox.append(2)
        inbox.deliver()
        #expect(heard.all.isEmpty)
    }
}

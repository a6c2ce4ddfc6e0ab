// The queue of one observer: which thread delivers, and when.

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
        inbox.deliverOn()
        #expect(heard.all == [1, 2])
        inbox.append(3)
        inbox.deliver()
        #expect(heard.all == [1, 2, 3])
    }

    @Test("an observer that is never quite through costs no more memory for it")
    func neverThrough() {
        let inboxes = Recorder<Inbox<Int>>()
        let most = Recorder<Int>()
        let inbox = Inbox<Int> { [heard] event in
            heard.record(event)
            guard let inbox = inboxes.all.first, event < 1000 else { return }
            inbox.append(event + 2)
            most.record(inbox.queue.withLock { $0.events.count })
        }
        inboxes.record(inbox)
        inbox.append(0)
        inbox.append(1)
        inbox.deliver()
        #expect(heard.all == Array(0...1001))
        #expect((most.all.max() ?? 0) < 50)
        #expect(inbox.close().isEmpty)
    }

    @Test("a closed one drops what it is owed, and takes nothing more")
    func close() {
        let inbox = Inbox<Int> { [heard] in heard.record($0) }
        inbox.append(1)
        #expect(inbox.close() == [1])
        #expect(inbox.close() == [])
        #expect(inbox.isClosed)
        inbox.append(2)
        inbox.deliver()
        #expect(heard.all.isEmpty)
    }
}

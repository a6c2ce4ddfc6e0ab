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
        inbox.deliverFirst()
        #expect(heard.all == [1, 2])
        inbox.append(3)
        inbox.deliver()
        #expect(heard.all == [1, 2, 3])
    }

    @Test("a finished one delivers what it owes, then forgets its observer")
    func finish() {
        let census = Census()
        let inbox = Inbox<Int> { [heard, citizen = census.citizen()] event in
            heard.record(event)
            withExtendedLifetime(citizen) {}
        }
        inbox.append(1)
        #expect(inbox.finish() == nil)
        #expect(!inbox.isClosed)
        inbox.deliver()
        #expect(heard.all == [1])
        #expect(census.living == 0)
    }

    @Test("an observer that is never quite through costs no more memory for it")
    func neverThrough() {
        let inboxes = Recorder<Inbox<Int>>()
        let most = Recorder<Int>()
        let inbox = Inbox<Int> { [heard] event in
            heard.record(event)
            guard let inbox = inboxes.all.first, event < 1000 else { return }
            inbox.append(event + 2)
            most.record(inbox.places)
        }
        inboxes.record(inbox)
        inbox.append(0)
        inbox.append(1)
        inbox.deliver()
        #expect(heard.all == Array(0...1001))
        #expect((most.all.max() ?? 0) < 50)
        _ = inbox.close()
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

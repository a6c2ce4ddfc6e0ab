// A disk that fails while the broker says goodbye to its clients.

import PlugboardPosix
import TestSupport
import Testing

@testable import PlugboardBroker
@testable import PlugboardJournal

@Suite("A sync that fails while the broker is stopping", .someAtATime)
struct LastSyncTests {
    /// Its first sync stops the broker. In the turn after that, the sync fails.
    private final class FailingWorker: JournalWorker {
        private let succession: Handoff
        private let own: Wakeup
        let journal: Wakeup
        private var isAsked = false
        private var looks = 0

        init(_ succession: Handoff, _ own: Wakeup) throws {
            (self.succession, self.own) = (succession, own)
            journal = try Wakeup()
        }

        func add(_ work: JournalWork) {
            guard case .sync = work else { return }
            isAsked = true
            succession.want(false)
            own.signal()
            journal.signal()
        }

        func takeDone() -> [WorkDone] {
            if !isAsked { return [] }
            looks += 1
            journal.signal()
            return looks > 1 ? [.syncFailed(SystemError(code: EIO, operation: "fsync"))] : []
        }

        func wait(for kind: JournalWork.Kind) {}
        func finish() {}
    }

    @Test("is told to the next broker, and nobody is told that a write is kept")
    func fails() throws {
        let folder = try TemporaryFolder(named: "pb")
        let path = folder.path + "/bus.sock"
        let listener = try UnixSocket.listen(path: path)
        let (own, succession, disk) = (try Wakeup(), Handoff(), SimulatedDisk())
        let worker = try FailingWorker(succession, own)
        var loop = try EventLoop(
            poller: PollPoller(), listener: listener.raw, wakeup: own, network: KernelSockets(),
            succession: succession
        )
        try loop.listen(to: worker.journal)
        try loop.open(disk, worker: worker, JournalOptions(sync: .never), boot: "boot")
        let client = try LinePeer(path: path)
        try client.send(#"{"op":"publish","id":1,"key":"a","value":1,"durable":true}"# + "\n")
        #expect(throws: JournalError.self) { try loop.run() }
        #expect(!client.available().contains { $0.contains(#""ok":"publish""#) })
        #expect(disk.files["failed"] != nil)
    }
}

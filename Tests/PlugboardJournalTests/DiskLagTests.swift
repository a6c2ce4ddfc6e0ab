import Testing

@testable import PlugboardJournal

@Suite("What waits for the disk", .computing)
struct DiskLagTests {
    private var lag = DiskLag(least: 100)
    private let second: UInt64 = 1_000_000_000

    @Test("is what was written and neither synced nor sent")
    mutating func waiting() {
        lag.noteWritten(50)
        lag.noteSyncBegan()
        lag.noteWritten(30)
        #expect(lag.waiting == 80)
        lag.noteSynced(at: second)
        #expect(lag.waiting == 30)
        lag.noteSent(20, upTo: 70, at: second)
        #expect(lag.waiting == 10)
        lag.noteSyncBegan()
        lag.noteWritten(5)
        // What was on its way before a sync began belongs to it.
        lag.noteSent(10, upTo: 80, at: second)
        lag.noteSynced(at: second)
        #expect(lag.waiting == 5)
        // What comes late counts no more.
        lag.noteSent(3, upTo: 80, at: second)
        #expect(lag.waiting == 5)
    }

    @Test("may be as much as the disk took in its last two seconds, and a least amount")
    mutating func most() {
        #expect(lag.waitingMax == 100)
        for (at, bytes) in [(1, 300), (2, 400), (3, 50)] as [(UInt64, Int)] {
            lag.noteWritten(bytes)
            lag.noteSyncBegan()
            lag.noteSynced(at: at * second)
        }
        #expect(lag.waitingMax == 700)
        lag.pass(to: 4 * second)
        #expect(lag.waitingMax == 450)
        lag.pass(to: 5 * second)
        #expect(lag.waitingMax == 100)
        #expect(lag.waiting == 0)
    }

    @Test("is sent before the next sync if it is three quarters of that")
    mutating func sent() {
        lag.noteWritten(75)
        #expect(!lag.isSentAtOnce)
        lag.noteWritten(1)
        #expect(lag.isSentAtOnce)
    }
}

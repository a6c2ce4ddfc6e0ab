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
        lag.noteSynced()
        #expect(lag.waiting == 30)
        lag.noteSent(20, upTo: 70, at: second)
        #expect(lag.waiting == 10)
        lag.noteSyncBegan()
        lag.noteWritten(5)
        // What was on its way before a sync began belongs to it.
        lag.noteSent(10, upTo: 80, at: second)
        lag.noteSynced()
        #expect(lag.waiting == 5)
        // What comes late counts no more.
        lag.noteSent(3, upTo: 80, at: second)
        #expect(lag.waiting == 5)
    }

    @Test("may be as much as the disk takes in two seconds, and a least amount")
    mutating func most() {
        #expect(lag.waitingMax == 100)
        lag.noteWritten(10_000)
        // 300 in half a second, and in the other half of this span as much.
        lag.noteSendBegan(at: 7 * second)
        lag.noteSent(300, upTo: 300, at: 7 * second + second / 2)
        #expect(lag.waitingMax == 1_200)
        // What nobody sends says nothing about the disk.
        lag.noteSendBegan(at: 20 * second)
        lag.noteSendBegan(at: 20 * second)
        lag.noteSent(300, upTo: 600, at: 20 * second + second / 2)
        lag.pass(to: 20 * second + second / 2)
        #expect(lag.waitingMax == 1_200)
        // It takes nothing.
        lag.pass(to: 21 * second + second / 2)
        #expect(lag.waitingMax == 600)
        lag.pass(to: 22 * second + second / 2)
        #expect(lag.waitingMax == 300)
        lag.pass(to: 26 * second)
        #expect(lag.waitingMax == 100)
    }

    @Test("is sent before the next sync if it is a quarter of the least amount, whatever the disk takes")
    mutating func sent() {
        lag.noteWritten(25)
        #expect(!lag.isSentAtOnce)
        lag.noteWritten(1)
        #expect(lag.isSentAtOnce)
        lag.noteSendBegan(at: second)
        lag.noteSent(10_000, upTo: 26, at: second)
        #expect(!lag.isSentAtOnce)
        lag.noteWritten(26)
        #expect(lag.isSentAtOnce && lag.waiting < lag.waitingMax / 100)
    }
}

import TestSupport
import Testing

@testable import plugboard_bench

@Suite("The window", .someAtATime)
struct WindowTests {
    private func window(_ batches: Int, publishers: Int, observers: Int) -> SendWindow {
        SendWindow(Workload(name: "w", publishers: publishers, observers: observers, window: batches))
    }

    @Test("a publisher is at most this many batches ahead of its answers")
    func answers() {
        let window = window(2, publishers: 1, observers: 0)
        #expect(window.isOpen(sent: 1, answered: 0))
        #expect(!window.isOpen(sent: 2, answered: 0))
        #expect(window.isOpen(sent: 2, answered: 1))
    }

    @Test("without observers, only answers limit it")
    func unobserved() {
        var window = window(2, publishers: 1, observers: 0)
        for _ in 0..<10 { window.noteSent() }
        #expect(window.isOpen && window.isEmpty)
    }

    @Test("the slowest observer keeps it closed")
    func slowest() {
        var window = window(2, publishers: 1, observers: 2)
        window.noteSent()
        window.noteSent()
        #expect(!window.isOpen)
        window.noteArrival(before: 0, now: 2)
        #expect(!window.isOpen)
        #expect(window.reached == 0)
        window.noteArrival(before: 0, now: 1)
        #expect(window.isOpen)
        #expect(window.reached == 1)
        #expect(!window.isEmpty)
        window.noteArrival(before: 1, now: 2)
        #expect(window.isEmpty)
    }

    @Test("eight publishers may have eight times as much on its way")
    func publishers() {
        var window = window(2, publishers: 8, observers: 1)
        for _ in 0..<15 { window.noteSent() }
        #expect(window.isOpen)
        window.noteSent()
        #expect(!window.isOpen)
    }

    @Test("it counts beyond the end of what it remembers")
    func longRun() {
        var window = window(1, publishers: 1, observers: 3)
        for batch in 0..<1000 {
            window.noteSent()
            for _ in 0..<3 { window.noteArrival(before: batch, now: batch + 1) }
            #expect(window.reached == batch + 1)
        }
        #expect(window.isEmpty)
    }
}

@Suite("Batches made equal", .someAtATime)
struct BatchMatchTests {
    @Test("the next batch grows or shrinks by as much as the mean was off")
    func next() {
        #expect(BatchMatch.next(batch: 64, mean: 64, wanted: 128, given: 64) == 128)
        #expect(BatchMatch.next(batch: 128, mean: 160, wanted: 128, given: 64) == 102)
    }

    @Test("it stays within a quarter and four times the workload's own batch")
    func bounds() {
        #expect(BatchMatch.next(batch: 64, mean: 1, wanted: 1000, given: 64) == 256)
        #expect(BatchMatch.next(batch: 64, mean: 1000, wanted: 1, given: 64) == 16)
        #expect(BatchMatch.next(batch: 1, mean: 100, wanted: 1, given: 1) == 1)
    }

    @Test("means within a fifth of each other can be compared")
    func equality() {
        #expect(BatchMatch.areEqual(120, 100))
        #expect(BatchMatch.areEqual(80, 100))
        #expect(!BatchMatch.areEqual(121, 100))
        #expect(!BatchMatch.areEqual(1, 0))
    }
}

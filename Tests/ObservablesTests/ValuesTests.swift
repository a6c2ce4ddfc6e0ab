// Values as an asynchronous sequence.

import Observables
import Testing

@Suite("the values of an observable")
struct ValuesTests {
    private let number = ObservableValue(0)

    @Test("begin with the current one and go on with every change that is read in time")
    func everyValue() async {
        var read: [Int] = []
        for await value in number.values {
            read.append(value)
            if value == 3 { break }
            number.value += 1
        }
        #expect(read == [0, 1, 2, 3])
    }

    @Test("a slow reader gets the newest value and skips those in between")
    func newestWins() async {
        var values = number.values.makeAsyncIterator()
        for value in 1...100 { number.update(value) }
        #expect(await values.next() == 100)
        number.update(101)
        #expect(await values.next() == 101)
    }

    @Test("a reader that wants all of them gets all of them")
    func unbounded() async {
        var values = number.values(buffering: .unbounded).makeAsyncIterator()
        for value in 1...100 { number.update(value) }
        for value in 0...100 { #expect(await values.next() == value) }
    }

    @Test("each loop has a stream of its own")
    func independent() async {
        var first = number.values.makeAsyncIterator()
        var second = number.values.makeAsyncIterator()
        #expect(await first.next() == 0)
        #expect(await second.next() == 0)
        #expect(number.observerCount == 2)
    }

    @Test("leaving the loop removes its observer")
    func leaving() async {
        for await _ in number.values { break }
        #expect(number.observerCount == 0)
    }

    @Test("cancelling the task ends the loop and removes its observer")
    func cancellation() async {
        let read = Recorder<Int>()
        let task = Task { [number] in
            for await value in number.values { read.record(value) }
        }
        #expect(await eventually { read.all == [0] })
        #expect(number.observerCount == 1)
        task.cancel()
        await task.value
        #expect(number.observerCount == 0)
        number.update(1)
        #expect(read.all == [0])
    }

    @Test("a stream that is never read leaves no observer behind")
    func neverRead() {
        do {
            let values = number.values
            #expect(number.observerCount == 1)
            withExtendedLifetime(values) {}
        }
        #expect(number.observerCount == 0)
    }

    @Test("the loop ends with the observable, which it doesn't keep alive")
    func endsWithObservable() async {
        var number: ObservableValue<Int>? = ObservableValue(7)
        let read = Recorder<Int>()
        let task = Task { [values = number?.values] in
            guard let values else { return }
            for await value in values { read.record(value) }
        }
        #expect(await eventually { read.all == [7] })
        number = nil
        await task.value
        #expect(read.all == [7])
    }
}

// Changes and pairs of values in `for await` loops.

import Testing

@testable import Observables

@Suite("sequences of changes", .timeLimit(.minutes(20)))
struct ChangeSequenceTests {
    @Test("what a loop hasn't read folds, and with delivery .all comes one by one")
    func folding() async {
        let value = ObservableValue(0)
        let (latest, all) = (value.changes(), value.changes(options: ObserverOptions(delivery: .all)))
        for number in 1...3 { value.value = number }
        var iterator = latest.makeAsyncIterator()
        #expect(await iterator.next() == Change(old: 0, new: 3))
        value.value = 4
        #expect(await iterator.next() == Change(old: 3, new: 4))
        var others = all.makeAsyncIterator()
        for number in 1...4 { #expect(await others.next() == Change(old: number - 1, new: number)) }
    }

    @Test("changes of a part, and its values, come without repeats")
    func parts() async {
        let text = ObservableValue("Ada")
        let (changes, counts) = (text.changes(\.count), text.values(\.count, buffering: .unbounded))
        for name in ["Eve", "Grace", "Linus", "Barbara"] { text.value = name }
        var iterator = changes.makeAsyncIterator()
        #expect(await iterator.next() == Change(old: 3, new: 7))
        for name in ["Grace", "Ada", "Barbara"] { text.value = name }
        text.value = "Eve"
        #expect(await iterator.next() == Change(old: 7, new: 3))
        var numbers: [Int] = []
        for await count in counts {
            numbers.append(count)
            if count == 7 { break }
        }
        #expect(numbers == [3, 5, 7])
    }

    @Test("a sequence ends with the value, after what it hasn't read, and with its task")
    func ends() async {
        var value: ObservableValue? = ObservableValue(0)
        let changes = value?.changes()
        value?.value = 1
        value = nil
        var heard: [Int] = []
        if let changes { for await change in changes { heard.append(change.new) } }
        #expect(heard == [1])

        // The same through a gate: for a part, with a control, and with an interval.
        for options in [
            ObserverOptions(control: ObserverControl()), ObserverOptions(every: .milliseconds(1)),
        ] {
            var text: ObservableValue? = ObservableValue("")
            let changes = (text?.changes(\.count), text?.changes(options: options))
            text?.value = "a"
            text?.value = "ab"
            text = nil
            var last: [Int] = []
            if let counts = changes.0 { for await change in counts { last.append(change.new) } }
            #expect(last.last == 2)
            var texts: [String] = []
            if let all = changes.1 { for await change in all { texts.append(change.new) } }
            #expect(texts.last == "ab")
        }

        let (lasting, begun) = (ObservableValue(0), ObservableValue(false))
        let task = Task {
            begun.value = true
            for await _ in lasting.changes() {}
            for await _ in combineLatest(lasting, lasting) {}
            for await _ in lasting.values(\.self) {}
            return true
        }
        for await hasBegun in begun.values where hasBegun { break }
        task.cancel()
        #expect(await task.value)
        #expect(await eventually { lasting.observerCount == 0 })
    }

    @Test("the newest of two values come together, and a transaction is never seen half")
    func pairs() async {
        let (first, second) = (ObservableValue(0), ObservableValue(0))
        let last = 500
        let writer = Task.detached {
            for number in 1...last {
                transaction { values in
                    values[first] = number
                    values[second] = -number
                }
            }
        }
        for await (one, other) in combineLatest(first, second) {
            #expect(one == -other)
            if one == last { break }
        }
        await writer.value
    }

    @Test("pairs end with either of the two")
    func pairsEnd() async {
        let first = ObservableValue(1)
        var second: ObservableValue? = ObservableValue("a")
        guard let pairs = second.map({ combineLatest(first, $0) }) else { return }
        var iterator = pairs.makeAsyncIterator()
        let pair = await iterator.next()
        #expect(pair?.0 == 1 && pair?.1 == "a")
        second = nil
        // The other one doesn't change.
        #expect(await iterator.next() == nil)
        #expect(first.observerCount == 0)
    }

    @Test("the standard library's operators do the rest")
    func operators() async {
        let text = ObservableValue("Ada")
        let long = text.values(\.count, buffering: .unbounded)
        for name in ["Eve", "Grace"] { text.value = name }
        #expect(await long.map { $0 * 2 }.first { $0 > 6 } == 10)
    }
}

// Several values changed in one step.

import Dispatch
import Observation
import Synchronization
import Testing

@testable import Observables

private struct Refusal: Error {}

@Suite("transactions")
struct TransactionTests {
    private let first = ObservableValue(10)
    private let second = ObservableValue(20)
    private let heard = Recorder<String>()

    private func watch() -> DisposeBag {
        var bag = DisposeBag()
        first.observe { [first, second, heard] in
            heard.record("first \($0.old ?? -1) \($0.new), \(first.value) \(second.value)")
        }.add(to: &bag)
        second.observe { [first, second, heard] in
            heard.record("second \($0.old ?? -1) \($0.new), \(first.value) \(second.value)")
        }.add(to: &bag)
        return bag
    }

    @Test("each observer is called once, in the order of the changes, and sees all of them")
    func all() {
        let bag = watch()
        let sum = transaction { values in
            values[second] += 1
            values[first] -= 1
            values[second] += 1
            #expect(first.value == 10 && second.value == 20 && heard.all == [])
            return values[first] + values[second]
        }
        #expect(sum == 31)
        #expect(heard.all == ["second 20 22, 9 22", "first 10 9, 9 22"])
        _ = bag
    }

    @Test("if it throws, nothing has changed and no one is told")
    func throwing() {
        let bag = watch()
        let done = Flags()
        #expect(throws: Refusal.self) {
            try transaction { (values) throws(Refusal) in
                values[first] = 0
                values.afterwards { done.raise() }
                if values[second] == 20 { throw Refusal() }
            }
        }
        #expect(first.value == 10 && heard.all == [] && !done.isRaised)
        _ = bag
    }

    @Test("what is only read isn't told, and an empty transaction does nothing")
    func reading() {
        let bag = watch()
        let sum = transaction { values in values[first] + values[second] }
        #expect(sum == 30)
        transaction { _ in }
        #expect(heard.all == [])
        _ = bag
    }

    @Test("a nested one is a part of the outer one, and takes back only its own changes if it throws")
    func nested() {
        let bag = watch()
        transaction { values in
            values[first] = 1
            transaction { inner in inner[second] = inner[first] + 1 }
            do {
                try transaction { inner in
                    inner[first] = 100
                    inner[second] = 200
                    throw Refusal()
                }
            } catch {}
            #expect(values[first] == 1 && values[second] == 2 && heard.all == [])
        }
        #expect(heard.all == ["first 10 1, 1 2", "second 20 2, 1 2"])
        _ = bag
    }

    @Test("effects for afterwards come after the changes and before the observers, in order")
    func afterwards() {
        let bag = watch()
        let events = Notifier<Int>()
        let observation = events.observe { [first, heard] in heard.record("event \($0), \(first.value)") }
        transaction { values in
            values[first] = 11
            values.afterwards { events.send(1) }
            values.afterwards { events.send(2) }
        }
        #expect(heard.all == ["event 1, 11", "event 2, 11", "first 10 11, 11 20"])
        observation.dispose()
        _ = bag
    }

    @Test("an observer may make a transaction, and so may what comes afterwards")
    func within() {
        let heard = Recorder<String>()
        let observation = first.observe { [first, second] change in
            heard.record("\(change.new) \(second.value)")
            if change.new < 13 {
                transaction { values in
                    values[first] += 1
                    values[second] += 1
                }
            }
        }
        transaction { values in
            values[first] = 11
            values.afterwards { [second] in transaction { $0[second] = 0 } }
        }
        #expect(heard.all == ["11 0", "12 1", "13 2"])
        observation.dispose()
    }

    @Test("it runs again if another thread has changed what it read")
    func again() {
        let runs = Recorder<Int>()
        transaction { values in
            let number = values[first]
            runs.record(number)
            if number < 12 { onOtherThread { first.value += 1 } }
            values[second] = number
        }
        #expect(runs.all == [10, 11, 12])
        #expect(second.value == 12 && first.value == 12)
    }

    @Test("after 16 attempts, changes by other threads wait, but reading doesn't")
    func starving() {
        let (runs, changed) = (Recorder<Int>(), DispatchSemaphore(value: 0))
        transaction { values in
            let number = values[first]
            runs.record(number)
            if runs.all.count <= Transaction.attemptsMax {
                onOtherThread { first.value += 1 }
            } else {
                DispatchQueue.global().async { [first] in
                    first.value += 1
                    changed.signal()
                }
                onOtherThread { #expect(first.value == number) }
            }
            values[second] = number
        }
        changed.wait()
        #expect(runs.all == Array(10...26))
        #expect(second.value == 26 && first.value == 27)
    }

    @Test("what it lets go of to wait for another value may change, and then it runs again")
    func lettingGo() {
        let (runs, isHeld, goOn) = (Recorder<Int>(), DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
        transaction { values in
            let number = values[first]
            runs.record(number)
            if runs.all.count <= Transaction.attemptsMax { return onOtherThread { first.value += 1 } }
            if runs.all.count == Transaction.attemptsMax + 1 {
                DispatchQueue.global().async { [second] in
                    wait(changing: &second.value, tell: isHeld, until: goOn)
                }
                isHeld.wait()
                // It waits, because the first value is lent to the transaction.
                DispatchQueue.global().async { [first] in
                    first.value += 100
                    goOn.signal()
                }
            }
            values[first] = number + values[second]
        }
        #expect(runs.all == Array(10...26) + [126])
        #expect(first.value == 147)
    }

    @Test("a body that changes directly what it reads comes to an end")
    func direct() {
        let runs = Recorder<Int>()
        transaction { values in
            runs.record(values[first])
            first.value += 1
            values[second] = values[first]
        }
        #expect(runs.all.count == Transaction.attemptsMax + 1)
        #expect(second.value == first.value - 1)
        transaction { values in
            values[first] = 5
            first.value = 99
        }
        #expect(first.value == 5)
    }

    @Test("threads that transfer in all directions lose nothing, and no observer sees half a transfer")
    func threads() {
        let accounts = (0..<3).map { _ in ObservableValue(100) }
        let wrong = Recorder<Int>()
        var bag = DisposeBag()
        for account in accounts {
            account.observe { _ in
                let sum = transaction { values in accounts.reduce(0) { $0 + values[$1] } }
                if sum != 300 { wrong.record(sum) }
            }.add(to: &bag)
        }
        onThreads(4) { thread in
            for round in 0..<100 {
                let (from, to) = (accounts[(thread + round) % 3], accounts[(thread + 2 * round + 1) % 3])
                transaction { values in
                    values[from] -= 1
                    values[to] += 1
                }
            }
        }
        let sum = accounts.reduce(0) { $0 + $1.value }
        #expect(sum == 300)
        #expect(wrong.all == [])
    }

    @Test("it makes progress beside threads that change without a break, directly and in place")
    func progress() {
        let list = ObservableValue([0])
        let over = Flags()
        onThreads(3) { thread in
            switch thread {
            case 0:
                for _ in 0..<50 {
                    transaction { values in
                        values[first] += 1
                        values[list] = [values[first]]
                    }
                }
                over.raise()
            case 1: while !over.isRaised { first.update { $0 += 1 } }
            default: while !over.isRaised { list.value.append(1) }
            }
        }
        #expect(first.value >= 60)
    }

    @Test("Observation is told of its changes")
    func observation() {
        let told = Flags()
        withObservationTracking {
            _ = second.value
        } onChange: {
            told.raise()
        }
        transaction { $0[second] = 1 }
        #expect(told.isRaised)
    }
}

/// Changes a value in place, and takes its time.
private func wait(changing value: inout Int, tell: DispatchSemaphore, until goOn: DispatchSemaphore) {
    tell.signal()
    goOn.wait()
    value += 1
}

/// Runs the body on another thread and waits for it.
private func onOtherThread(_ body: @escaping @Sendable () -> Void) {
    let done = DispatchSemaphore(value: 0)
    DispatchQueue.global().async {
        body()
        done.signal()
    }
    done.wait()
}

/// Raised once, by any thread.
private final class Flags: Sendable {
    private let raised = Atomic(false)
    var isRaised: Bool { raised.load(ordering: .acquiring) }
    func raise() { raised.store(true, ordering: .releasing) }
}

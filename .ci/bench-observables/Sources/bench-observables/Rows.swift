// The rows: what a notification costs, what a change in place costs, and how soon a thread ends.

import Observables
import Observation
import Synchronization

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

func notifications(_ count: Int, _ report: inout Report) {
    let (counter, rounds) = (Counter(), max(300, 300_000 / count))
    let (list, notifier, value, read) = (
        LockedList<Int>(), Notifier<Int>(), ObservableValue(0), ObservableValue(0)
    )
    var bag = DisposeBag()
    for _ in 0..<count {
        list.observe { counter.add($0) }
        notifier.observe { counter.add($0) }.add(to: &bag)
        value.observe { counter.add($0.new) }.add(to: &bag)
        read.observe { counter.add($0.new) }.add(to: &bag)
    }
    withObservationTracking {
        counter.add(read.value)
    } onChange: {
    }
    let times = nanoseconds(
        rounds,
        [
            { list.send($0) }, { notifier.send($0) }, { value.update($0) }, { value.value += $0 },
            { read.update($0) },
        ]
    )
    let most: Double = count == 1 ? 3 : 4
    let names = ["Notifier.send", "ObservableValue.update", "ObservableValue.value +="]
    for (name, time) in zip(names, times.dropFirst()) {
        report.row("\(name), \(count) obs. / locked list", time / times[0], " x", atMost: most)
    }
    let name = "ObservableValue.update, \(count) obs."
    report.row("\(name), Observation has read / list", times[4] / times[0], " x", atMost: 6)
    report.row("Observation, re-armed / \(name)", rearmed(count) / times[2], " x", atLeast: 10)
    bag.dispose()
}

private func rearmed(_ count: Int) -> Double {
    let (model, counter) = (Model(), Counter())
    return nanoseconds(
        max(30, 30_000 / count),
        [
            { round in
                for _ in 0..<count { model.arm(counter) }
                model.number = round
            }
        ]
    )[0]
}

func changesInPlace(_ report: inout Report) {
    let counter = Counter()
    let (alone, observed) = (ObservableValue(Array(0..<10_000)), ObservableValue(Array(0..<10_000)))
    // The array's own growth isn't what is measured.
    for value in [alone, observed] { value.value.reserveCapacity(1_000_000) }
    let observation = observed.observeValues { counter.add($0.count) }
    let times = nanoseconds(100_000, [{ alone.value.append($0) }, { observed.value.append($0) }])
    report.row("append to 10,000 elements, no observer", times[0], " ns", atMost: 100)
    report.row("the same, and one observer without old is told", times[1], " ns")
    observation.dispose()
}

func threadEnds(_ report: inout Report) {
    let times = (0..<21).map { _ in
        let thread = Sleeper()
        thread.startAndFallAsleep()
        return ContinuousClock().measure { thread.end() } / .milliseconds(1)
    }
    report.row("stop and join of a thread that sleeps", times.sorted()[10], " ms", atMost: 10)
}

/// A thread whose code would sleep for an hour.
private final class Sleeper: ObservableThread, @unchecked Sendable {
    private let isAsleep = Atomic(false)

    override func main() {
        isAsleep.store(true, ordering: .releasing)
        sleep(for: .seconds(3600))
    }

    func startAndFallAsleep() {
        do { try start() } catch { print(error) }
        while !isAsleep.load(ordering: .acquiring) { usleep(100) }
        usleep(1000)
    }

    func end() {
        stop()
        join()
    }
}

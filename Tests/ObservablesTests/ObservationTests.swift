// Swift's Observation notes what is read, and is told of the change.

import Observables
import Observation
import Synchronization
import Testing

/// A class with state of its own by key.
private final class Prices: KeyedThreadSafeObservable, @unchecked Sendable {
    private let prices = Mutex<[String: Int]>([:])

    func price(_ sku: String) -> Int? {
        noteRead(key: sku)
        return prices.withLock { $0[sku] }
    }

    func set(_ sku: String, to price: Int) {
        prices.withLock { $0[sku] = price }
        withObservers(key: sku) { (_: any ColourObserver) in }
    }
}

@Suite("Observation")
struct ObservationTests {
    private func firings(of change: () -> Void, reading read: () -> Void) -> Int {
        let fired = Recorder<Int>()
        withObservationTracking(read) { fired.record(1) }
        change()
        return fired.all.count
    }

    @Test("is told of each way to change a value, once for each reading")
    func value() {
        let number = ObservableValue(0)
        let changes: [() -> Void] = [
            { number.value = 1 }, { number.value += 1 }, { number.update(7) }, { number.update { $0 += 1 } },
        ]
        for change in changes {
            let count = firings(of: change) { _ = number.value }
            #expect(count == 1)
        }
        #expect(
            firings(of: {
                number.value = 1; number.value = 2
            }) { _ = number.value } == 1
        )
    }

    @Test("finds the new value when it is told")
    func newValue() {
        let (number, seen) = (ObservableValue(0), Recorder<Int>())
        withObservationTracking {
            _ = number.value
        } onChange: {
            seen.record(number.value)
        }
        number.value = 5
        #expect(seen.all == [5])
    }

    @Test("isn't told of values that nobody has read, or that were read elsewhere")
    func unread() {
        let (number, other) = (ObservableValue(0), ObservableValue(0))
        _ = number.value
        #expect(firings(of: { number.value = 1 }) { _ = other.value } == 0)
    }

    @Test("works through the protocol, too")
    func throughTheProtocol() {
        func read(_ number: some ValueObservable<Int>) { _ = number.value }
        let number = ObservableValue(0)
        #expect(firings(of: { number.value = 1 }) { read(number) } == 1)
    }

    @Test("is told of the key that was read, and of no other")
    func keys() {
        let prices = Prices()
        #expect(firings(of: { prices.set("A", to: 1) }) { _ = prices.price("A") } == 1)
        #expect(firings(of: { prices.set("B", to: 1) }) { _ = prices.price("A") } == 0)
    }

    @Test("is told of notifications without a key by all three kinds")
    func publishers() throws {
        let plain = PlainObservable()
        let tell: (any Publisher) -> Void = { $0.withObservers { (_: any ColourObserver) in } }
        #expect(firings(of: { tell(plain) }, reading: plain.noteRead) == 1)
        let safe = ThreadSafeObservable()
        #expect(firings(of: { tell(safe) }, reading: safe.noteRead) == 1)
        let thread = ObservableThread()
        #expect(firings(of: { tell(thread) }, reading: thread.noteRead) == 1)
    }

    @Test("asks again and again: no change is missed on one thread")
    func rearmed() {
        let (number, seen) = (ObservableValue(0), Recorder<Int>())
        for next in 1...5 {
            withObservationTracking {
                _ = number.value
            } onChange: {
                seen.record(next)
            }
            number.value = next
        }
        #expect(seen.all == [1, 2, 3, 4, 5])
    }
    @Test("asks again and again on one thread while another one changes: the last change is never missed")
    func rearmedMeanwhile() async {
        for _ in 0..<200 {
            let number = ObservableValue(0)
            let seen = Atomic(0)
            @Sendable func look() {
                withObservationTracking {
                    let now = number.value
                    seen.max(now, ordering: .sequentiallyConsistent)
                } onChange: {
                    look()
                }
            }
            look()
            onThreads(2) { thread in
                for _ in 0..<50 {
                    if thread == 0 { number.value += 1 } else { look() }
                }
            }
            #expect(seen.load(ordering: .sequentiallyConsistent) == 50)
        }
    }
}

// Changes in place: they copy nothing that nobody asked for, and other threads see whole values only.
//
// Why an address: only the place of an array's elements shows that they were not copied. It is compared, and
// never read through.

import Observables
import Synchronization
import Testing

private struct Pair: Sendable {
    var left: [Int]
    var right: [Int]

    init(number: Int) {
        left = [number]
        right = [number]
    }

    mutating func both(_ change: (inout [Int]) -> Void) {
        change(&left)
        change(&right)
    }
}

@Suite("a change in place")
struct InPlaceTests {
    private let list = ObservableValue([1, 2, 3])

    /// Where the elements are. It stays the same as long as nothing was copied.
    private func place() -> UInt {
        list.update { list in
            unsafe list.withUnsafeMutableBufferPointer { UInt(bitPattern: $0.baseAddress) }
        }
    }

    @Test("copies nothing if no observer asks for the old value")
    func copiesNothing() {
        list.value.reserveCapacity(100)
        let heard = Recorder<Int>()
        let observation = list.observeValues { heard.record($0.count) }
        let before = place()
        list.value.append(4)
        list.update { $0.append(5) }
        #expect(place() == before)
        observation.dispose()
        #expect(heard.all == [3, 4, 5, 5])
    }

    @Test("keeps the old value for an observer that asks for it, and for no longer than that")
    func keepsOld() {
        list.value.reserveCapacity(100)
        let heard = Recorder<Change<[Int]>>()
        let observation = list.observe { heard.record($0) }
        list.value.append(4)
        list.update { $0.append(5) }
        observation.dispose()
        #expect(heard.all.map(\.old) == [[1, 2, 3], [1, 2, 3, 4]])
        #expect(heard.all.map(\.new) == [[1, 2, 3, 4], [1, 2, 3, 4, 5]])
        list.value.reserveCapacity(100)
        let before = place()
        list.value.append(6)
        #expect(place() == before)
    }

    @Test("that throws in the middle leaves what it has done, and tells it, as with any property")
    func throwing() {
        struct Refusal: Error {}
        let heard = Recorder<[Int]>()
        let observation = list.observeValues { heard.record($0) }
        #expect(throws: Refusal.self) {
            try list.value.removeAll { number in
                if number == 3 { throw Refusal() }
                return true
            }
        }
        observation.dispose()
        #expect(heard.all == [list.value])
        list.value.append(9)
        #expect(list.value.last == 9)
    }

    @Test("may use the value in its arguments")
    func arguments() {
        list.value.append(list.value.count)
        list.value[list.value.count - 1] += list.value[0]
        #expect(list.value == [1, 2, 3, 4])
    }

    @Test("by many threads at once: none reads a value that is half changed, or waits for ever")
    func manyThreads() {
        let pairs = ObservableValue(Pair(number: 0))
        let broken = Atomic(0)
        let observation = pairs.observeValues { pair in
            if pair.left != pair.right { broken.add(1, ordering: .relaxed) }
        }
        onThreads(8) { thread in
            for round in 0..<500 {
                if thread.isMultiple(of: 2) {
                    pairs.value = Pair(number: round)
                } else {
                    pairs.value.both { $0[0] += 1 }
                    let pair = pairs.value
                    if pair.left != pair.right { broken.add(1, ordering: .relaxed) }
                }
            }
        }
        observation.dispose()
        #expect(broken.load(ordering: .relaxed) == 0)
    }
}

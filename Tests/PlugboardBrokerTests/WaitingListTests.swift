// A list of what waits keeps its order, whatever comes, goes and comes again.

import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("A waiting list", .computing)
struct WaitingListTests {
    @Test("has each key once, in the order in which it came last, also if it comes again")
    func again() {
        var list = WaitingList<Int, Int>()
        var expected: [(key: Int, element: Int)] = []
        var generator = SeededRandom(seed: 7)
        for number in 0..<20_000 {
            let key = Int.random(in: 0..<(number % 1_000 < 500 ? 50 : 4), using: &generator)
            expected.removeAll { $0.key == key }
            if Int.random(in: 0..<5, using: &generator) < 2 {
                list.remove(key)
            } else {
                list.append(number, as: key)
                expected.append((key, number))
            }
            #expect(list.count == expected.count && list.first == expected.first?.element)
            if number % 16 == 0 { #expect(list.all == expected.map(\.element)) }
            #expect(list[key] == expected.last.flatMap { $0.key == key ? $0.element : nil })
        }
    }
}

// Gives each number to only one caller.

import Synchronization

enum Counter {
    private static let last = Atomic<Int>(0)

    static func next() -> Int {
        last.add(1, ordering: .relaxed).newValue
    }
}

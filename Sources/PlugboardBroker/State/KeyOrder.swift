// The observables in the order of their keys' bytes: a skip list (Pugh, 1990) whose
// links lie with the observables. Only touched when a key comes or goes, never when
// one changes its value.

import PlugboardMemory
import PlugboardPosix

/// An ordered index over observables that it does not own; each has its links beside it.
struct KeyOrder: ~Copyable {
    private static let heightMax = 12
    private let head: UnsafeMutablePointer<ObservableReference?>
    private var random: UInt64 = 0x2545_F491_4F6C_DD1D

    init() {
        head = .allocate(capacity: Self.heightMax)
        head.initialize(repeating: nil, count: Self.heightMax)
    }

    deinit {
        head.deallocate()
    }

    /// The observable that follows in order.
    static func next(after observable: ObservableReference) -> ObservableReference? {
        observable.pointee.tower[0]
    }

    /// The first observable whose key is not less than `key`.
    func first(from key: Span<UInt8>) -> ObservableReference? {
        var tower = head
        for level in stride(from: Self.heightMax - 1, through: 0, by: -1) {
            tower = Self.last(before: key, from: tower, level)
        }
        return tower[0]
    }

    mutating func insert(_ observable: ObservableReference) {
        let links = observable.pointee.tower
        let height = Int(observable.pointee.height)
        var tower = head
        for level in stride(from: Self.heightMax - 1, through: 0, by: -1) {
            tower = Self.last(before: observable.pointee.key, from: tower, level)
            guard level < height else { continue }
            links[level] = tower[level]
            tower[level] = observable
        }
    }

    /// Puts observables that are in order already into an empty index.
    mutating func fill(_ observables: some Sequence<ObservableReference>) {
        var ends = Array(repeating: head, count: Self.heightMax)
        for observable in observables {
            for level in 0..<Int(observable.pointee.height) {
                ends[level][level] = observable
                ends[level] = observable.pointee.tower
            }
        }
    }

    mutating func remove(_ observable: ObservableReference) {
        let links = observable.pointee.tower
        var tower = head
        for level in stride(from: Self.heightMax - 1, through: 0, by: -1) {
            tower = Self.last(before: observable.pointee.key, from: tower, level)
            if level < Int(observable.pointee.height) { tower[level] = links[level] }
        }
    }

    /// The tower from which the next step on `level` would reach or pass `key`.
    private static func last(
        before key: Span<UInt8>,
        from start: UnsafeMutablePointer<ObservableReference?>,
        _ level: Int
    ) -> UnsafeMutablePointer<ObservableReference?> {
        var tower = start
        while let next = tower[level], precedes(next.pointee.key, key) { tower = next.pointee.tower }
        return tower
    }

    static func precedes(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        left.order(to: right) < 0
    }

    /// The levels of the next observable: one more with a chance of one in four (xorshift64).
    mutating func nextHeight() -> Int {
        random ^= random << 13
        random ^= random >> 7
        random ^= random << 17
        return min(Self.heightMax, 1 + random.trailingZeroBitCount / 2)
    }
}

extension KeyOrder {
    private static var always: Invariants { Invariants(of: "KeyOrder") }

    /// Each of so many observables stands once, at its place, in as many levels as it is high.
    func checkInvariants(_ living: borrowing Living, count: Int) throws(BrokenInvariant) {
        var heights = Array(repeating: 0, count: Self.heightMax)
        for observable in living.observables {
            for level in 0..<min(Self.heightMax, Int(observable.pointee.height)) { heights[level] += 1 }
        }
        for level in 0..<Self.heightMax { try levelAscends(level, living, count: heights[level]) }
    }

    private func levelAscends(
        _ level: Int,
        _ living: borrowing Living,
        count: Int
    ) throws(BrokenInvariant) {
        var found = 0
        var last: ObservableReference?
        var next = head[level]
        while let observable = next {
            let isThere = living.observables.contains(observable)
            try Self.always.hold("what stands in the order is there", isThere)
            let key = observable.pointee.key
            if let last {
                let ascends = Self.precedes(last.pointee.key, key)
                try Self.always.hold("keys ascend", ascends, of: String(key))
            }
            found += 1
            (last, next) = (observable, observable.pointee.tower[level])
        }
        try Self.always.agree("each observable stands in the order once", found, count)
    }
}

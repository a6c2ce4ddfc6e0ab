// The values of one batch of a dump, until all of them have been read, and what a load counts.

import PlugboardWire

/// Values that are written together.
struct LoadBatch {
    private var values: [DumpedValue] = []
    private var numbers: [Int] = []
    /// How many lines of it were bad. Nothing of it is written then.
    private var bad = 0

    /// Whether the value belongs to the batch that has begun.
    func takes(_ value: DumpedValue) -> Bool {
        guard let first = values.first else { return true }
        return first.revision == value.revision && first.batchCount == value.batchCount
    }

    var isComplete: Bool { values.first.map { values.count == $0.batchCount } ?? false }

    mutating func add(_ value: DumpedValue, _ number: Int) {
        values.append(value)
        numbers.append(number)
    }

    /// Notes a bad line, which may be one of the batch.
    mutating func spoil(_ number: Int) {
        bad += 1
    }

    /// The complete batch.
    mutating func take() -> ([DumpedValue], [Int]) {
        defer { self = LoadBatch() }
        return (values, numbers)
    }

    /// The lines of a batch that is not complete, and what is wrong; nil if there is none.
    mutating func giveUp() -> ([Int], String)? {
        defer { self = LoadBatch() }
        guard let first = values.first else { return nil }
        let reason = bad == 0 ? "" : "; a line is bad"
        let message = "a batch of \(first.batchCount) values has only \(values.count) here\(reason)"
        return (numbers, message)
    }

    /// The request that writes values.
    static func request(_ values: ArraySlice<DumpedValue>) -> [UInt8] {
        if values.count == 1, let only = values.first { return only.request }
        return ObjectWriter(op: "batch").adding("writes", json: ObjectWriter.array(values.map(\.request)))
            .bytes
    }
}

/// Values that a request writes, or asks for.
struct SentValues {
    /// Their lines in the file.
    let numbers: [Int]
    let amount: LoadCounts
    /// Which of them the request is for; nil if it is for all of them.
    var place: Int?
}

/// What a load has done.
struct LoadCounts {
    private(set) var values = 0
    private(set) var writes = 0
    /// Values under keys that had one, if that was asked.
    private(set) var replaced = 0
    private(set) var timed = 0
    /// Values that were left out because they ended with a connection.
    var bound = 0
    var refused = 0
    /// Batches that are too long for one line.
    var parted = 0

    var all: Int { values + bound + refused }

    init() {}

    /// A value that was sent in the place of its line.
    static let one = LoadCounts(values: 1, writes: 1)

    private init(values: Int, writes: Int) { (self.values, self.writes) = (values, writes) }

    /// Those of one write.
    init(_ written: ArraySlice<DumpedValue>, _ present: Set<String>?) {
        values = written.count
        writes = 1
        timed = written.count(where: \.hasTime)
        replaced = present.map { keys in written.count { keys.contains($0.key) } } ?? 0
    }

    mutating func add(_ other: LoadCounts) { add(other, times: 1) }

    /// The broker has refused a write.
    mutating func takeBack(_ other: LoadCounts) { add(other, times: -1) }

    private mutating func add(_ other: LoadCounts, times: Int) {
        values += times * other.values
        writes += times * other.writes
        replaced += times * other.replaced
        timed += times * other.timed
    }

    func text(_ revision: UInt64, asJSON: Bool, isDry: Bool) -> String {
        if asJSON {
            let counts = ObjectWriter().adding("values", values).adding("writes", writes)
                .adding("bound", bound).adding("refused", refused)
            let rest = isDry ? counts.adding("replaced", replaced) : counts.adding("revision", revision)
            return String(decoding: rest.adding("parted", parted > 0 ? parted : nil).bytes, as: UTF8.self)
        }
        let left = bound == 0 ? "" : ", left out \(bound) that ended with a connection"
        let amount = "\(Plural.values(UInt64(values))) in \(writes) \(writes == 1 ? "write" : "writes")"
        return isDry
            ? "would write \(amount): \(values - replaced) new, \(replaced) replaced, \(timed) with a ttl\(left)"
            : "wrote \(amount)\(left), revision \(revision)"
    }
}

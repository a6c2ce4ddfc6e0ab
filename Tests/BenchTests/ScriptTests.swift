import Testing

@testable import plugboard_bench

/// All bytes that a publisher sends.
@Suite("A publisher's script")
struct ScriptTests {
    /// The limit counts batches by their bytes.
    @Test("all batches have the same length, whether or not all values do", arguments: [4, 7])
    func batches(batch: Int) {
        let workload = Workload("test").with { ($0.changesLength, $0.batch) = (true, batch) }
        let script = Script(workload, publisher: 0, dialect: LimitDialect(programs: Products.programs))
        let lines = Set(Array(script.batch(0)).split(separator: UInt8(ascii: "\n")).map(\.count))
        #expect(lines.count > 1, "values of two lengths")
        for number in 1..<8 { #expect(script.batch(number).count == script.batch(0).count) }
    }
}

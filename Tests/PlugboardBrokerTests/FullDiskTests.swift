// Values that end while the disk under the journal is full. Nobody may be told of an end that a broker
// would not know after it was killed.

import PlugboardJournal
import PlugboardPosix
import PlugboardWire
import TestSupport
import Testing

@testable import PlugboardBroker

@Suite("while the disk is full", .someAtATime)
struct FullDiskTests {
    private let test = BareHub()
    private let disk = SimulatedDisk()

    init() throws {
        disk.capacity = 1_200_000
        try test.keepJournal(on: disk)
    }

    /// Ends a turn. Returns whether everything was written.
    private func endTurn() throws -> Bool {
        _ = try test.hub.durability.write(revision: test.hub.revision)
        test.endTurn()
        return test.hub.durability.isWritten
    }

    private func fill(_ client: SessionHandle) throws {
        var size = 100_000
        var number = 0
        while size > 10 {
            number += 1
            let line =
                #"{"op":"publish","id":1,"key":"fill.\#(number)","value":"\#(String(repeating: "x", count: size))"}"#
            if test.send(line, from: client).contains(where: { $0.contains("storage") }) { size /= 2 }
            #expect(try endTurn())
        }
        // From here on there is only the room that is reserved.
        disk.capacity = disk.occupied
    }

    /// Ends the values whose time is over, until nothing more is sent.
    private func expire(_ observer: SessionHandle) throws -> Int {
        var told = 0
        for _ in 0..<100 {
            guard let next = test.hub.deadlines.next else { break }
            test.hub.expire(now: next + 60_000_000_000)
            let lines = test.lines(of: observer).filter { $0.contains(#""event":"delete""#) }
            told += lines.count
            #expect(try endTurn(), "told of what isn't kept")
        }
        return told
    }

    @Test("a disk that fails while room is made is the end: nothing is written behind half a record")
    func fails() throws {
        let value = String(repeating: "x", count: 300_000)
        let line = #"{"op":"publish","id":1,"key":"a","value":"\#(value)"}"#
        var refused: Set<String> = []
        for number in 0..<8 {
            let tests = try FullDiskTests()
            let (disk, client) = (tests.disk, tests.test.client())
            func isRefused() -> Bool {
                tests.test.send(line, from: client).contains { $0.contains("storage") }
            }
            #expect(!isRefused())
            let operation = disk.operations + number
            disk.refusals[operation] = EIO
            disk.tearsRefusedWrites = true
            guard isRefused() else { continue }
            refused.insert(disk.kinds[operation])
            #expect(isRefused() && disk.operations == operation + 1)
            #expect(throws: JournalError.self) { try tests.endTurn() }
        }
        #expect(refused == ["write", "reserve"])
    }

    @Test(
        "values of a connection that has ended, or whose time is over, stay until there is room",
        arguments: [#""while":"connected""#, #""ttl":1"#]
    )
    func ends(bound: String) throws {
        let (writing, filling, observer) = (test.client(), test.client(), test.client())
        test.send("subscribe bound.**", from: observer)
        for number in 0..<3_000 {
            test.send(#"{"op":"publish","key":"bound.\#(number)","value":1,\#(bound)}"#, from: writing)
            _ = test.lines(of: observer)
            #expect(try endTurn())
        }
        try fill(filling)
        test.hub.leave(writing)
        var told = test.lines(of: observer).count
        #expect(try endTurn())
        told += try expire(observer)
        #expect(told > 100 && told < 3_000)
        disk.capacity = 10_000_000
        #expect(try test.hub.durability.tick(at: 0))
        told += try expire(observer)
        #expect(told == 3_000)
    }
}

// Memory that is given back to the system while it stays allocated.

import PlugboardPosix
import Testing

@Suite("Memory that is given back")
struct MemoryPagesTests {
    @Test("loses its contents, and the memory beside it doesn't", arguments: [0, 1, 100_000, 3_000_000])
    func contents(count: Int) throws {
        var memory = [UInt8](repeating: 1, count: count + 2)
        var all = memory.mutableSpan
        var part = all._mutatingExtracting(1..<(count + 1))
        MemoryPages.giveBack(&part)
        #expect(memory.first == 1)
        #expect(memory.last == 1)
        // The pages are gone. The system gives new ones when somebody writes there.
        #expect((memory.count { $0 == 0 } >= count - 2 * 65_536))
        for index in memory.indices { memory[index] = 2 }
        #expect(memory.allSatisfy { $0 == 2 })
    }
}

// A thousand plugins that crash as soon as they start, beside one that doesn't.

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugins that crash", .someAtATime, .serialized)
struct CrashingPluginTests {
    @Test("no crash leaves a zombie or a descriptor behind", .timeLimit(.minutes(20)))
    func crashes() throws {
        let shop = try Shop()
        let count = LongSuite.count(200, quick: 4)
        for number in 0..<count { try shop.add("crash\(number)", "echo x >> runs; exit 3") }
        try shop.add("good", "echo fine; exec sleep 1000")
        let up = try shop.up()
        try eventually("all are given up") {
            up.messages.split(separator: "\n").count { $0.contains("broken after") } >= count
        }
        var crashes = 0
        for number in 0..<count { crashes += shop.text("crash\(number)", "runs").utf8.count / 2 }
        #expect(crashes == count * 5)
        try eventually("all were waited for") { Processes.zombies(of: up.pid).isEmpty }
        // The broker and the healthy plugin remain, with what they need.
        #expect(Processes.children(of: up.pid).count == 2)
        let descriptors = try Folder.names(in: "/proc/\(up.pid)/fd").count
        #expect(descriptors < 40)
        #expect(try plugboard("publish", "a", "1", in: shop.folder).end == .exited(0))
        LongSuite.print("\(crashes) plugin crashes: no zombie, \(descriptors) descriptors open")
    }
}

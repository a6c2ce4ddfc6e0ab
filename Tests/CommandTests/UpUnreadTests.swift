import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("If nobody reads what it prints", .someAtATime)
final class UpUnreadTests: ShopSuite {
    /// A pipe that nobody reads, and that has a reader nevertheless.
    private func pipe() throws -> (path: String, file: DataFile) {
        let path = "\(shop.folder.path)/pipe"
        #expect(SystemCalls.makePipe(path))
        return (path, try DataFile.appending(to: path))
    }

    @Test("up goes on: it starts a plugin again, answers, and ends at a signal")
    func up() throws {
        try shop.add(
            "loud",
            """
            n=0; while [ $n -lt 5000 ]; do echo "\(String(repeating: "x", count: 400)) $n"; n=$((n + 1)); done
            echo $$ > pids; exec sleep 1000
            """
        )
        try shop.add("quiet", "echo $$ >> pids; exec sleep 1000")
        let pipe = try pipe()
        let up = try Run(["up"], in: shop.folder, terminal: pipe.path)
        let loud = try shop.pids("loud", count: 1)
        let quiet = try shop.pids("quiet", count: 1)
        try Signals.send(SIGKILL, to: quiet[0])
        _ = try shop.pids("quiet", count: 2)
        #expect(try plugboard("plugins", in: shop.folder).lines.count == 3)
        up.signal(SIGTERM)
        #expect(try up.finished().end == .exited(0))
        try shop.expectGone(loud + shop.pids("quiet", count: 2))
    }

    @Test("what waits is kept up to a limit; a line says how many were left out, and then it goes on")
    func backlog() throws {
        let pipe = try pipe()
        let backlog = OutputBacklog(OutputStream(StandardStream(fd: pipe.file.raw)))
        let count = 20_000
        for number in 1...count { backlog.line("line \(number) \(String(repeating: "x", count: 40))") }
        let poller = try PollerKind.standard.make()
        var read: [UInt8] = []
        func readAll() throws {
            try backlog.keepUp(poller, token: 1)
            while PipeCalls.isReadable(pipe.file.raw) {
                read += PipeCalls.read(pipe.file.raw, upTo: 65_536).bytes
                try backlog.keepUp(poller, token: 1)
            }
        }
        try readAll()
        backlog.line("later")
        try readAll()
        let lines = String(decoding: read, as: UTF8.self).split(separator: "\n")
        let kept = lines.count - 2
        #expect(kept > 0 && kept < count)
        for (place, line) in lines.prefix(kept).enumerated() { #expect(line.hasPrefix("line \(place + 1) ")) }
        let reason = "left out here, because they couldn't be written"
        #expect(lines[kept] == "plugboard up: \(count - kept) lines \(reason)")
        #expect(lines.last == "later")
        #expect(!backlog.isReaderGone)
    }

    #if os(Linux)
        @Test("if what it prints can't be written, as on a full disk, up goes on, too")
        func fullDisk() throws {
            try shop.add("loud", "echo one; echo two; echo $$ >> pids; exec sleep 1000")
            let up = try Run(["up"], in: shop.folder, terminal: "/dev/full")
            try Signals.send(SIGKILL, to: shop.pids("loud", count: 1)[0])
            let loud = try shop.pids("loud", count: 2)
            #expect(try plugboard("plugins", in: shop.folder).lines.count == 2)
            up.signal(SIGTERM)
            #expect(try up.finished().end == .exited(0))
            try shop.expectGone(loud)
        }

        @Test("what a full disk takes no longer is left out; when there is room again, a line says how much")
        func room() throws {
            let disk = try DataFile.appending(to: "/dev/full")
            let backlog = OutputBacklog(OutputStream(StandardStream(fd: disk.raw)))
            let poller = try PollerKind.standard.make()
            for number in 1...5 { backlog.line("line \(number)") }
            try backlog.keepUp(poller, token: 1)
            backlog.finish()
            #expect(!backlog.isReaderGone)
            let path = try shop.folder.write("room", "")
            let file = try DataFile.appending(to: path)
            #expect(dup2(file.raw, disk.raw) == disk.raw)
            try backlog.keepUp(poller, token: 1)
            backlog.line("later")
            let notice = "plugboard up: 4 lines left out here, because they couldn't be written"
            #expect(shop.folder.text("room") == "line 1\n\(notice)\nlater\n")
        }
    #endif
}

// A real disk of 3 MB under a broker. It is a file system in memory, which only root can mount.

#if os(Linux)
    import Foundation
    import PlugboardBroker
    import PlugboardJournal
    import PlugboardPosix
    import TestSupport
    import Testing

    @Suite(
        "On a disk of 3 MB",
        .oneAtATime,
        .serialized,
        .enabled(if: SmallDisk.isPossible, "only root can mount one")
    )
    struct SmallDiskTests {
        private let disk: SmallDisk
        private var options: JournalOptions { JournalOptions(historyBytes: 0) }
        private var state: String { disk.path + "/state" }

        init() throws {
            disk = try SmallDisk()
        }

        /// Writes five keys of 5 kB again and again. No write is refused.
        private func write(_ client: TestClient, _ count: Int) throws {
            let value = String(repeating: "x", count: 5_000)
            for number in 1...count {
                let reply = try client.ask("publish key.\(number % 5) \"\(number) \(value)\"")
                guard reply.contains("\"ok\"") else {
                    return #expect(Bool(false), "write \(number): \(reply)")
                }
            }
        }

        @Test("five keys are written as often as one likes, before and after a restart and a kill's leavings")
        func five() throws {
            for _ in 1...2 {
                let broker = try TestBroker(state: state, options)
                try write(try broker.client(), LongSuite.count(50_000, quick: 4_000))
                broker.stop()
            }
            #expect(disk.bytes(of: "state") < 3_145_728)
        }

        @Test(
            "whatever fits twice is written as often as one likes, one at a time or many",
            arguments: [
                (100, 5_000, 10), (20, 20_000, 10), (2, 300_000, 1), (1, 500_000, 1), (1, 700_000, 1),
            ]
        )
        func twice(keys: Int, bytes: Int, writesPerTurn: Int) throws {
            let broker = try TestBroker(state: state, options)
            let client = try broker.client()
            let value = String(repeating: "x", count: bytes)
            let turns = LongSuite.count(200_000_000, quick: 40_000_000) / bytes / writesPerTurn
            var refused = 0
            for turn in 0..<turns {
                let numbers = (turn * writesPerTurn)..<((turn + 1) * writesPerTurn)
                let lines = numbers.map { "publish key.\($0 % keys) \"\($0) \(value)\"" }
                try client.send(lines.joined(separator: "\n"))
                for _ in numbers where try !client.line().contains("\"ok\"") { refused += 1 }
            }
            #expect(refused == 0, "of \(turns * writesPerTurn)")
            broker.stop()
        }

        @Test("a start without any room makes some, and so does deleting all keys")
        func full() throws {
            var broker = try TestBroker(state: state, options)
            try write(try broker.client(), 300)
            broker.stop()
            disk.fill("ballast")
            broker = try TestBroker(state: state, options)
            try write(try broker.client(), 100)
            broker.stop()
            disk.remove("ballast")

            broker = try TestBroker(state: state, options)
            let client = try broker.client()
            let value = String(repeating: "y", count: 20_000)
            var count = 0
            while try client.ask("publish more.\(count + 1) \"\(value)\"").contains("\"ok\"") { count += 1 }
            #expect(count > 30 && count < 150)
            for number in 1...count { #expect(try client.ask("delete more.\(number)").contains("\"ok\"")) }
            for number in 0..<5 { #expect(try client.ask("delete key.\(number)").contains("\"ok\"")) }
            try write(client, 500)
            broker.stop()
        }
    }

    /// A file system of its own in memory. It is removed with this object.
    final class SmallDisk {
        private let folder: TemporaryFolder
        var path: String { folder.path }

        static let isPossible = geteuid() == 0 && (try? SmallDisk()) != nil

        init() throws {
            folder = try TemporaryFolder(named: "ps")
            guard Self.run("mount", "-t", "tmpfs", "-o", "size=3m,mode=700", "tmpfs", folder.path) else {
                throw SystemError(code: EPERM, operation: "mount")
            }
        }

        deinit { _ = Self.run("umount", path) }

        /// Fills all the room that is left.
        func fill(_ name: String) {
            _ = Self.run("dd", "if=/dev/zero", "of=\(path)/\(name)", "bs=4096")
        }

        func remove(_ name: String) { SystemCalls.remove("\(path)/\(name)") }

        /// The bytes of all files in a folder, with reserved room.
        func bytes(of folder: String) -> Int {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: "\(path)/\(folder)")) ?? []
            return names.reduce(0) { $0 + SystemCalls.bytesOnDisk("\(path)/\(folder)/\($1)") }
        }

        private static func run(_ words: String...) -> Bool {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            process.arguments = words
            process.standardOutput = FileHandle.nullDevice
            process.standardError = FileHandle.nullDevice
            guard (try? process.run()) != nil else { return false }
            process.waitUntilExit()
            return process.terminationStatus == 0
        }
    }
#endif

// A real disk of 3 MB under a broker. It is a file system in memory, which only root can mount.

#if os(Linux)
    import Foundation
    import PlugboardBroker
    import PlugboardPosix
    import TestSupport
    import Testing

    @testable import PlugboardJournal

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

        @Test("five keys are written as often as one likes, before and after a restart and a kill's leavings")
        func five() throws {
            for _ in 1...2 {
                let broker = try TestBroker(state: state, options)
                #expect(try broker.client().write(LongSuite.count(50_000, quick: 4_000)) == 0)
                broker.stop()
            }
            #expect(bytesOnDisk(of: state) < 3_145_728)
        }

        @Test(
            "whatever fits twice is written as often as one likes, one at a time or many",
            arguments: [
                (100, 5_000, 10), (20, 20_000, 10), (2, 300_000, 1), (1, 500_000, 1), (1, 700_000, 1),
            ]
        )
        func twice(keys: Int, bytes: Int, together: Int) throws {
            let broker = try TestBroker(state: state, options)
            let client = try broker.client()
            let count = LongSuite.count(200_000_000, quick: 40_000_000) / bytes
            #expect(try client.write(count, keys: keys, bytes: bytes, together: together) == 0)
            broker.stop()
        }

        @Test("a start without any room makes some, and so does deleting all keys")
        func full() throws {
            var broker = try TestBroker(state: state, options)
            #expect(try broker.client().write(300) == 0)
            broker.stop()
            disk.fill("ballast")
            broker = try TestBroker(state: state, options)
            #expect(try broker.client().write(100) == 0)
            broker.stop()
            disk.remove("ballast")

            broker = try TestBroker(state: state, options)
            let client = try broker.client()
            let count = try client.publishUntilFull(bytes: 20_000)
            #expect(count > 30 && count < 150)
            for number in 1...count { #expect(try client.ask("delete more.\(number)").contains("\"ok\"")) }
            for number in 0..<5 { #expect(try client.ask("delete key.\(number)").contains("\"ok\"")) }
            #expect(try client.write(500) == 0)
            broker.stop()
        }

        @Test("a delete has room after a restart, too, whatever the disk holds", arguments: [1_000, 300_000])
        func deletes(bytes: Int) throws {
            var broker = try TestBroker(state: state, options)
            let count = try broker.client().publishUntilFull(bytes: bytes)
            broker.stop()
            broker = try TestBroker(state: state, options)
            let client = try broker.client()
            for number in 1...count { #expect(try client.ask("delete more.\(number)").contains("\"ok\"")) }
            #expect(try client.write(100) == 0)
            broker.stop()
        }

        @Test("a start without a free byte refuses writes until there is room, and does all else")
        func noByte() throws {
            let killed = try TemporaryFolder(named: "pk")
            var broker = try TestBroker(state: state, options)
            _ = try broker.client().publishUntilFull(bytes: 300_000)
            try FileManager.default.copyItem(atPath: state, toPath: killed.path + "/state")
            broker.stop()
            try FileManager.default.removeItem(atPath: state)
            try FileManager.default.copyItem(atPath: killed.path + "/state", toPath: state)
            disk.fill("ballast")
            broker = try TestBroker(state: state, options)
            let client = try broker.client()
            #expect(try client.ask("get more.1").contains("\"value\":\"yyy"))
            #expect(try client.ask("emit more.1 1").contains("\"ok\""))
            #expect(try client.ask("publish key 1").contains("\"storage\""))
            #expect(try client.ask("get $broker.warnings").contains("is full: writes are refused"))
            disk.remove("ballast")
            let end = ContinuousClock.now + .seconds(20)
            while ContinuousClock.now < end, try !client.ask("delete more.1").contains("\"ok\"") {
                usleep(50_000)
            }
            #expect(try client.write(100) == 0)
            try eventually("the warning goes") {
                try client.ask("get $broker.warnings").contains(#""value":[],"#)
            }
            broker.stop()
        }
    }

    extension TestClient {
        /// Writes new keys of so many bytes until one is refused. Returns how many were written.
        fileprivate func publishUntilFull(bytes: Int) throws -> Int {
            let value = String(repeating: "y", count: bytes)
            var count = 0
            while try ask("publish more.\(count + 1) \"\(value)\"").contains("\"ok\"") { count += 1 }
            return count
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

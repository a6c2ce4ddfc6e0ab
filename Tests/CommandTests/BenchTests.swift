import Foundation
import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard_bench

/// The command `bench` and its output. The figures are not tested here.
@Suite("bench", .someAtATime)
struct BenchTests {
    @Test("measures each kind of row against a broker and the limit, and prints a table")
    func table() throws {
        let folder = try TemporaryFolder()
        let run = try plugboard(
            "bench",
            "--only",
            "1→1,1→10-old,round-trip-1,start",
            "--runs",
            "1",
            "--seconds",
            "0.02",
            in: folder
        )
        #expect(run.end == .exited(0))
        for part in [
            "1→10-old: 128-byte values", "without", "round-trip-1: ", "start: ", "messages/s", "p99.9 µs",
            "plugboard",
            "limit",
        ] {
            #expect(run.output.contains(part), "\(part) in:\n\(run.output)")
        }
    }

    @Test("prints JSON in which every figure is a number")
    func json() throws {
        let folder = try TemporaryFolder()
        let run = try plugboard(
            "bench", "--json", "--only", "1→1", "--runs", "2", "--seconds", "0.02", in: folder
        )
        #expect(run.end == .exited(0))
        let report = try #require(
            try JSONSerialization.jsonObject(with: Data(run.output.utf8)) as? [String: Any]
        )
        #expect(report["runs"] as? Int == 2)
        let rows = try #require(report["rows"] as? [[String: Any]])
        let systems = try #require(rows.first?["systems"] as? [[String: Any]])
        #expect(systems.map { $0["system"] as? String } == ["plugboard", "without", "limit"])
        let figures = try #require(systems.first?["figures"] as? [String: [String: Double]])
        for name in ["messagesPerSecond", "cpuNanosecondsPerMessage", "cpuNanosecondsPerDelivery"] {
            let figure = try #require(figures[name], "\(name)")
            #expect((figure["least"] ?? 0) > 0 && figure["least"] ?? 0 <= figure["median"] ?? 0)
            #expect(figure["median"] ?? 0 <= figure["most"] ?? 0)
        }
    }

    @Test("a row that doesn't exist is a usage error")
    func unknownRow() throws {
        let run = try plugboard("bench", "--only", "frobnicate", in: try TemporaryFolder())
        #expect(run.end == .exited(64))
        #expect(
            run.messages.contains("frobnicate") && run.messages.contains("and with --growth: growth-keys ")
        )
        let words = run.messages.split { $0 == " " || $0 == "\n" }.map(String.init)
        for workload in Workloads.usual { #expect(words.contains(workload.name), "\(workload.name)") }
        let near = try plugboard("bench", "--only", "1→10,round-trp-1", in: try TemporaryFolder())
        #expect(near.messages.contains("did you mean \"round-trip-1\"?"))
    }

    @Test("if it isn't built, it says so, and how to build it; help has no word about it")
    func missing() throws {
        let folder = try TemporaryFolder()
        try FileCopy.make(of: Products.plugboard, at: folder.path + "/plugboard")
        let run = try Run(program: folder.path + "/plugboard", ["bench", "--help"], in: folder).finished()
        #expect(run.end == .exited(69) && run.output.isEmpty)
        #expect(run.messages.contains("/plugboard-bench isn't there"))
        #expect(run.messages.contains("swift build -c release"))
        let help = try Run(program: folder.path + "/plugboard", ["help"], in: folder).finished()
        #expect(help.end == .exited(0) && !help.output.contains("bench"))
        // A shell doesn't look in the current folder for a word without a slash.
        let hint = try Run(program: folder.path + "/plugboard", ["get", "a"], in: folder).finished()
        #expect(hint.messages.contains("start one with plugins: ./plugboard up"))
    }

    @Test("its errors and its exit status are those of plugboard bench")
    func passedOn() throws {
        let run = try plugboard("bench", "--frobnicate", in: try TemporaryFolder())
        #expect(run.end == .exited(64))
        #expect(run.messages.hasPrefix("plugboard bench: bench has no option \"--frobnicate\"\n"))
    }

    @Test(
        "the version that it names is that of the toolchain",
        .enabled(if: FileStatus(path: "/bin/sh").kind == .file)
    )
    func toolchain() throws {
        let folder = try TemporaryFolder()
        let tools = try Run(program: "/bin/sh", ["-c", "swift --version 2>/dev/null"], in: folder).finished()
        guard tools.end == .exited(0), let version = tools.output.firstMatch(of: /Swift version ([\d.]+)/)?.1
        else { return }
        let run = try plugboard("bench", "--only", "start", "--runs", "1", in: folder)
        #expect(run.output.contains("; Swift \(version), its library"), "\(run.output.prefix(300))")
        #expect(run.output.split(separator: "\n").allSatisfy { $0.count <= 100 })
    }
}

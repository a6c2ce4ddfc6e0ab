// The shell plugin from SPEC.md, run unchanged if nc and jq are there.

import Foundation
import TestSupport
import Testing

@Suite("the plugin in shell", .someAtATime)
struct ShellPluginTests {
    static let isRunnable = ["nc", "jq"].allSatisfy { tool in
        let path = ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin"
        return path.split(separator: ":").contains {
            FileManager.default.isExecutableFile(atPath: "\($0)/\(tool)")
        }
    }

    @Test(
        "it works as described, ends without its broker, and leaves nothing behind, even after SIGTERM",
        .enabled(if: isRunnable, "nc or jq is not installed"),
        arguments: [false, true]
    )
    func alarms(isKilled: Bool) throws {
        let page = try ProtocolFolder.text("SPEC.md")
        let script = try #require(Transcript.blocks("sh", of: page, name: "protocol/SPEC.md").first)
        #expect(script.text.split(separator: "\n").count <= 15)
        let broker = try RunningBroker()
        let peer = try broker.connect()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pb-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script.text]
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["PLUGBOARD_SOCKET": broker.path, "TMPDIR": folder.path]
        ) { $1 }
        try peer.send(#"{"op":"subscribe","key":"cart.alarm"}"# + "\n")
        for _ in 0..<2 { _ = try peer.line() }
        try peer.send(
            #"{"op":"publish","id":1,"key":"cart.summary","value":{"items":1,"total":100.00}}"# + "\n"
        )
        _ = try peer.line()
        try process.run()
        try Self.expect(
            #"{"event":"update","sub":1,"key":"cart.alarm","revision":2,"value":false,"by":"cart-alarm","cause":1}"#,
            peer
        )
        try peer.send(
            #"{"op":"publish","id":2,"key":"cart.summary","value":{"items":2,"total":100.01}}"# + "\n"
        )
        try Self.expect(#"{"ok":"publish","id":2,"revision":3}"#, peer)
        try Self.expect(
            #"{"event":"update","sub":1,"key":"cart.alarm","revision":4,"value":true,"by":"cart-alarm","cause":3}"#,
            peer
        )
        if isKilled { process.terminate() } else { broker.stop() }
        #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
        if isKilled { try Self.expectGone(peer) }
        #expect(Self.isOver(process), "something of it goes on")
        #expect(process.terminationStatus == (isKilled ? 0 : 1))
    }

    /// Its `nc` is gone as well: what it wrote belongs to a client that no longer exists.
    private static func expectGone(_ peer: LinePeer) throws {
        let end = ContinuousClock.now + HangGuard.duration
        var answer = ""
        repeat {
            try peer.send("get cart.alarm\n")
            answer = String(decoding: try peer.line() ?? [], as: UTF8.self)
        } while answer.contains(#""live":true"#) && ContinuousClock.now < end
        #expect(answer.contains(#","cause":3,"live":false"#), "\(answer)")
    }

    /// Whether it and all its children end. Foundation would wait for that without a limit.
    private static func isOver(_ process: Process) -> Bool {
        let end = ContinuousClock.now + HangGuard.duration
        while process.isRunning, ContinuousClock.now < end { usleep(1_000) }
        return !process.isRunning
    }

    @Test(
        "it sends nothing to another user's broker",
        .enabled(if: isRunnable && Stranger.isPossible, "nc or jq is not installed, or this isn't root")
    )
    func stranger() throws {
        let page = try ProtocolFolder.text("SPEC.md")
        let script = try #require(Transcript.blocks("sh", of: page, name: "protocol/SPEC.md").first)
        let stranger = try Stranger(saying: [#"{"event":"hello"}"#])
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", script.text]
        process.environment = ProcessInfo.processInfo.environment.merging(
            ["PLUGBOARD_SOCKET": stranger.path]
        ) { $1 }
        try process.run()
        #expect(Self.isOver(process))
        #expect(process.terminationReason == .exit && process.terminationStatus == 69)
        #expect(try stranger.heardUntilNow() == "")
    }

    @Test("if others may write to the folder, it says so and connects to nothing", .enabled(if: isRunnable))
    func shared() throws {
        let page = try ProtocolFolder.text("SPEC.md")
        let script = try #require(Transcript.blocks("sh", of: page, name: "protocol/SPEC.md").first)
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pb-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let socket = folder.appendingPathComponent("s").path
        try #require(FileManager.default.createFile(atPath: socket, contents: nil))
        for mode in [0o770, 0o707] {
            try #require(SystemCalls.setMode(folder.path, mode_t(mode)))
            let process = Process()
            let messages = Pipe()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            process.arguments = ["-c", script.text]
            process.standardError = messages
            process.environment = ProcessInfo.processInfo.environment.merging(["PLUGBOARD_SOCKET": socket]) {
                $1
            }
            try process.run()
            #expect(Self.isOver(process))
            #expect(process.terminationStatus == 69)
            let said = try messages.fileHandleForReading.readToEnd() ?? Data()
            #expect(String(decoding: said, as: UTF8.self).contains("others may have made"))
        }
    }

    private static func expect(_ line: String, _ peer: LinePeer) throws {
        #expect(try peer.line().map { String(decoding: $0, as: UTF8.self) } == line)
    }
}

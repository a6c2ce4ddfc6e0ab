// README's two lines on installing, typed unchanged, with a home folder of their own.

import Foundation
import PlugboardPosix
import TestSupport
import Testing

@Suite("README, installing")
struct InstallTests {
    @Test("the two lines install the command with its plugins, and the service's files that name it")
    func install() async throws {
        let block = try #require(
            try Readme.blocks(in: "sh").first { $0.lines.contains { $0.hasSuffix("plugboard install") } }
        )
        #expect(block.lines.count == 2)
        let scratch = try TemporaryFolder()
        let home = scratch.url.path
        for line in block.lines {
            let command = line.replacing(".build/release/", with: Running.folder.path + "/")
            let script = "export HOME=\(home) XDG_CONFIG_HOME=; \(command)"
            let run = try Running("/bin/sh", ["-c", script], in: scratch)
            let status = try await run.status()
            let output = run.output
            #expect(status == 0, "\(line): \(output)")
        }
        #expect(FileStatus.isRunnable(path: home + "/.local/bin/plugboard"))
        #expect(FileStatus.isRunnable(path: home + "/.local/lib/plugboard/plugins/cart/cart"))
        #expect(FileStatus(path: home + "/.local/lib/plugboard/plugins/demo.txt").kind == .file)
        let files = [
            ".config/systemd/user/plugboard.service", "Library/LaunchAgents/org.plugboard.bus.plist",
        ]
        let texts = files.compactMap { try? String(contentsOfFile: "\(home)/\($0)", encoding: .utf8) }
        #expect(texts.count == 1 && texts[0].contains("/.local/lib/plugboard/plugboard"))
        let script = "export HOME=\(home); \(home)/.local/bin/plugboard install --remove"
        let run = try Running("/bin/sh", ["-c", script], in: scratch)
        #expect(try await run.status() == 0)
        #expect(FileStatus(path: home + "/.local").kind == .missing)
    }
}

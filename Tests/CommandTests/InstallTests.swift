import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("install", .oneAtATime)
struct InstallTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    private func install(_ arguments: String..., configuration: String = "") throws -> Finished {
        try Run(
            ["install"] + arguments,
            in: folder,
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": configuration]
        )
        .finished()
    }

    private let unit = ".config/systemd/user/plugboard.service"
    private let socketUnit = ".config/systemd/user/plugboard.socket"

    @Test("writes a unit that starts this program's broker, and tells what to type")
    func systemd() throws {
        let finished = try install("--user", "--for", "systemd")
        #expect(finished.end == .exited(0))
        #expect(
            finished.lines == [
                "systemctl --user daemon-reload",
                "systemctl --user enable --now plugboard.socket plugboard.service",
            ]
        )
        let program = try #require(ProgramPath.resolved(Products.plugboard))
        let lines = folder.text(unit).split(separator: "\n").map(String.init)
        #expect(lines.contains("ExecStart=\"\(program)\" \"broker\""))
        #expect(lines.contains("ExecReload=/bin/kill -HUP $MAINPID"))
        #expect(lines.contains("Restart=on-failure"))
        #expect(lines.contains("Type=notify") && lines.contains("WatchdogSec=30"))
        #expect(lines.contains("WatchdogSignal=SIGKILL") && lines.contains("Requires=plugboard.socket"))
        let socket = folder.text(socketUnit).split(separator: "\n")
        #expect(socket.contains("ListenStream=%t/plugboard/bus.sock") && socket.contains("SocketMode=0600"))
        let printed = try install("--user", "--for", "systemd", "--print")
        #expect(printed.output == folder.text(unit) + "\n" + folder.text(socketUnit))
        _ = try install("--user", "--for", "systemd", "--socket", "/tmp/100%.sock")
        #expect(folder.text(socketUnit).contains("ListenStream=/tmp/100%%.sock\n"))
    }

    @Test("with --plugins the service is up; what the manager would replace is escaped")
    func plugins() throws {
        try folder.write("my 100% \"$plugins\"/readme", "")
        let root = try #require(ProgramPath.resolved(folder.path))
        let unit = try install("--user", "--print", "--for", "systemd", "--plugins", "my 100% \"$plugins\"")
        #expect(unit.output.contains(#" "up" "--plugins" "\#(root)/my 100%% \"$$plugins\"""#))
        let missing = try install("--user", "--plugins", "nowhere")
        #expect(missing.end == .exited(64))
    }

    @Test("for launchd it is a property list")
    func launchd() throws {
        let finished = try install("--user", "--for", "launchd", "--socket", "/tmp/a&b.sock")
        #expect(finished.end == .exited(0))
        let text = folder.text("Library/LaunchAgents/org.plugboard.bus.plist")
        #expect(text.contains("<string>broker</string>\n        <string>--socket</string>\n"))
        #expect(text.contains("<string>/tmp/a&amp;b.sock</string>"))
        #expect(!folder.exists(socketUnit))
    }

    @Test("XDG_CONFIG_HOME goes before ~/.config")
    func configuration() throws {
        let finished = try install("--user", "--for", "systemd", configuration: folder.path + "/other")
        #expect(finished.end == .exited(0))
        #expect(folder.exists("other/systemd/user/plugboard.service"))
        #expect(!folder.exists(".config"))
    }

    @Test("its own file is replaced, another's is left alone; without --user nothing is done")
    func replaced() throws {
        #expect(try install("--for", "systemd").end == .exited(64))
        #expect(!folder.exists(unit))
        #expect(try install("--user", "--for", "systemd").end == .exited(0))
        #expect(try install("--user", "--for", "systemd", "--socket", "/tmp/s").end == .exited(0))
        #expect(folder.text(unit).contains(#""--socket" "/tmp/s""#))
        try folder.write(unit, "[Unit]\n")
        let refused = try install("--user", "--for", "systemd")
        #expect(refused.end == .exited(1))
        #expect(folder.text(unit) == "[Unit]\n")
        #expect(try install("--user", "--print", "--socket", "s").end == .exited(64))
    }

    @Test(
        "systemd finds nothing wrong with the unit",
        .enabled(if: FileStatus.isRunnable(path: "/usr/bin/systemd-analyze"))
    )
    func verified() throws {
        #expect(try install("--user", "--for", "systemd").end == .exited(0))
        let path = "\(folder.path)/\(unit)"
        let run = try Run(
            program: "/usr/bin/systemd-analyze",
            ["--user", "verify", path, "\(folder.path)/\(socketUnit)"],
            in: folder,
            environment: ["XDG_RUNTIME_DIR": folder.path]
        )
        .finished()
        #expect(run.end == .exited(0))
        #expect(!run.messages.contains("plugboard.service"), "\(run.messages)")
    }
}

import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("install", .someAtATime)
final class InstallTests: FolderSuite {
    /// Installs as somebody does who has built the program. A service may start the copy.
    private func install(_ arguments: String..., configuration: String = "") throws -> Finished {
        let copy = folder.path + "/.local/bin/plugboard"
        if FileStatus(path: copy).kind == .missing {
            try folder.write("none/readme", "")
            #expect(try run(Products.plugboard, ["--plugins", "none"]).end == .exited(0))
        }
        return try run(copy, arguments, configuration: configuration)
    }

    private func run(_ program: String, _ arguments: [String], configuration: String = "") throws -> Finished
    {
        try Run(
            program: program,
            ["install"] + arguments,
            in: folder,
            environment: ["HOME": folder.path, "XDG_CONFIG_HOME": configuration]
        )
        .finished()
    }

    private let unit = ".config/systemd/user/plugboard.service"
    private let socketUnit = ".config/systemd/user/plugboard.socket"

    @Test("writes a unit that starts this program's broker, and prints the next commands")
    func systemd() throws {
        let finished = try install("--user", "--for", "systemd")
        #expect(finished.end == .exited(0))
        #expect(
            finished.lines == [
                "systemctl --user daemon-reload",
                "systemctl --user enable --now plugboard.socket plugboard.service",
            ]
        )
        let program = try #require(ProgramPath.resolved("\(folder.path)/.local/lib/plugboard/plugboard"))
        let lines = folder.text(unit).split(separator: "\n").map(String.init)
        #expect(lines.contains("ExecStart=\"\(program)\" \"broker\""))
        #expect(lines.contains("ExecReload=/bin/kill -HUP $MAINPID"))
        #expect(lines.contains("Restart=on-failure"))
        #expect(lines.contains("Type=notify") && lines.contains("WatchdogSec=30"))
        #expect(lines.contains("WatchdogSignal=SIGKILL") && lines.contains("Requires=plugboard.socket"))
        let socket = folder.text(socketUnit).split(separator: "\n")
        #expect(socket.contains("ListenStream=%t/plugboard/bus.sock") && socket.contains("SocketMode=0600"))
        let printed = try install("--user", "--for", "systemd", "--print")
        let named = [unit, socketUnit].map { "# \(folder.path)/\($0)\n" + folder.text($0) }
        #expect(printed.output == named.joined(separator: "\n"))
        _ = try install("--user", "--for", "systemd", "--socket", "/tmp/100%.sock")
        #expect(folder.text(socketUnit).contains("ListenStream=/tmp/100%%.sock\n"))
    }

    @Test("with --plugins the service runs up; what the manager would replace is escaped")
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
        let printed = try install("--user", "--for", "launchd", "--socket", "/tmp/a&b.sock", "--print").output
        let place = "\(folder.path)/Library/LaunchAgents/org.plugboard.bus.plist"
        #expect(printed.replacing("<!-- \(place) -->\n", with: "") == text && printed != text)
    }

    @Test("XDG_CONFIG_HOME comes before ~/.config")
    func configuration() throws {
        let finished = try install("--user", "--for", "systemd", configuration: folder.path + "/other")
        #expect(finished.end == .exited(0))
        #expect(folder.exists("other/systemd/user/plugboard.service"))
        #expect(!folder.exists(".config"))
    }

    @Test("it replaces its own file and leaves others alone; options that exclude each other are refused")
    func replaced() throws {
        for words in [["--for", "systemd"], ["--socket", "/tmp/s"], ["--remove", "--print"]] {
            #expect(try run(Products.plugboard, words).end == .exited(64), "\(words)")
        }
        #expect(try install("--user", "--prefix", "/tmp").end == .exited(64))
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

    @Test("a program in its build folder is no service: it is refused, with what to do first")
    func buildFolder() throws {
        for words in [["--user", "--for", "systemd"], ["--user", "--for", "launchd", "--print"]] {
            let refused = try run(Products.plugboard, words)
            #expect(refused.end == .exited(1) && refused.output.isEmpty)
            #expect(refused.messages.contains("lies where it was built"))
            #expect(refused.messages.contains("first: \(Products.plugboard) install\n"))
        }
        #expect(!folder.exists(unit))
        #expect(BuildFolder.holds("/x/.build/debug/plugboard") && !BuildFolder.holds("/usr/bin/plugboard"))
        try folder.write("scratch/plugboard.build/x", "")
        #expect(BuildFolder.holds(folder.path + "/scratch/plugboard"))
    }

    @Test("--user --remove removes the service's files and its links, and nothing else")
    func serviceRemoved() throws {
        #expect(try install("--user", "--for", "systemd").end == .exited(0))
        try folder.write(".config/systemd/user/default.target.wants/other.service", "")
        let link = folder.path + "/.config/systemd/user/default.target.wants/plugboard.service"
        SystemCalls.makeLink(link, to: "../plugboard.service")
        let removed = try install("--user", "--for", "systemd", "--remove")
        #expect(removed.end == .exited(0))
        #expect(removed.lines.first == "systemctl --user stop plugboard.socket plugboard.service")
        #expect(!folder.exists(unit) && !folder.exists(socketUnit) && FileCopy.target(ofLink: link) == nil)
        #expect(folder.exists(".config/systemd/user/default.target.wants/other.service"))
        #expect(try install("--user", "--for", "systemd", "--remove").end == .exited(1))
        try folder.write(unit, "[Unit]\n")
        #expect(try install("--user", "--for", "systemd", "--remove").end == .exited(1))
        #expect(folder.exists(unit))
    }

    @Test("--remove leaves no empty folders, and those with something in them stay")
    func emptyFolders() throws {
        #expect(try install("--user", "--for", "systemd").end == .exited(0))
        #expect(try install("--user", "--for", "systemd", "--remove").end == .exited(0))
        #expect(!folder.exists(".config/systemd"))
        #expect(try run(Products.plugboard, ["--remove"]).end == .exited(0))
        #expect(!folder.exists(".local"))
        try folder.write("none/readme", "")
        #expect(try run(Products.plugboard, ["--plugins", "none"]).end == .exited(0))
        try folder.write(".local/bin/other", "")
        #expect(try run(Products.plugboard, ["--remove"]).end == .exited(0))
        #expect(folder.exists(".local/bin/other") && !folder.exists(".local/lib"))
    }

    @Test("other users may enter its folders, whatever the umask is")
    func folders() throws {
        try folder.write("none/readme", "")
        let words = ["install", "--plugins", "none", "--prefix", "\(folder.path)/made/here"]
        let finished = try Run(
            program: "/bin/sh", ["-c", #"umask 077; exec "$@""#, "sh", Products.plugboard] + words, in: folder
        )
        .finished()
        #expect(finished.end == .exited(0))
        for name in ["made", "made/here", "made/here/bin", "made/here/lib", "made/here/lib/plugboard"] {
            #expect(SystemCalls.mode("\(folder.path)/\(name)") == 0o755, "\(name)")
        }
    }

    @Test(
        "systemd finds no mistake in the unit",
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

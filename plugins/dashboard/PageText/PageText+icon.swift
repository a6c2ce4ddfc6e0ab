// Made by .ci/page from plugins/dashboard/page/icon.svg: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let iconSVG: StaticString = ##"""
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32">
  <rect width="32" height="32" rx="8" fill="#3b5bdb"/>
  <g fill="none" stroke="#fff" stroke-width="2.5" stroke-linecap="round">
    <path d="M9 10c7 0 7 12 14 12M9 22c7 0 7-12 14-12"/>
  </g>
  <g fill="#fff">
    <circle cx="8" cy="10" r="3.4"/><circle cx="24" cy="10" r="3.4"/>
    <circle cx="8" cy="22" r="3.4"/><circle cx="24" cy="22" r="3.4"/>
  </g>
</svg>
"""##
}

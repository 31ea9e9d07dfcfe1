/**
 * The whole style sheet of the page: system fonts, light and dark colours, one column that fits a
 * telephone.
 */
export const style = `
:root{color-scheme:light dark;--paper:#fdfdfc;--ink:#1d2125;--soft:#5c6670;--line:#e2e4e2;--panel:#f4f5f2;--accent:#0a6b4f;--warn:#9a4a00}
@media(prefers-color-scheme:dark){:root{--paper:#14171a;--ink:#e4e7e9;--soft:#9aa5ae;--line:#2b3136;--panel:#1c2125;--accent:#5cc9a3;--warn:#e7a860}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--paper);color:var(--ink);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",sans-serif}
a{color:var(--accent);text-decoration-thickness:1px;text-underline-offset:.2em}
:focus-visible{outline:2px solid var(--accent);outline-offset:2px}
code,pre{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace;font-size:.86em}
.page{display:grid;grid-template-columns:15rem minmax(0,1fr);column-gap:3.5rem;max-width:74rem;margin:0 auto;padding:0 1.5rem}
header{grid-column:1/-1;padding:2.2rem 0 1.2rem;border-bottom:1px solid var(--line)}
header p{margin:0}
.places{display:flex;flex-wrap:wrap;gap:.3rem 1.2rem;margin-top:.7rem}
form{display:flex;flex-wrap:wrap;align-items:center;gap:.3rem .8rem;margin-top:1rem}
form[hidden],[hidden]{display:none}
form label{color:var(--soft);font-size:.875rem}
form input{flex:0 1 20rem;min-width:0;font:inherit;color:inherit;background:var(--panel);border:1px solid var(--soft);border-radius:5px;padding:.3rem .6rem}
form output{color:var(--soft);font-size:.875rem;font-variant-numeric:tabular-nums}
nav{position:sticky;top:0;align-self:start;max-height:100vh;overflow-y:auto;padding:1.7rem 0 2rem;font-size:.875rem;overflow-wrap:anywhere}
nav div{margin-bottom:1.1rem}
nav b{display:block;margin-bottom:.25rem;font-weight:600}
nav ul{list-style:none;margin:0;padding:0}
nav li a{display:block;padding:.16rem 0;color:var(--soft);text-decoration:none}
nav li a:hover{color:var(--accent)}
main{padding:1.2rem 0 5rem;min-width:0}
h1{font-size:2rem;line-height:1.2;margin:0 0 .3rem;letter-spacing:-.02em}
h2{font-size:1.35rem;margin:3.5rem 0 .2rem;letter-spacing:-.01em}
h3{font-size:1.12rem;margin:0;line-height:1.35}
h4{font-size:.8rem;margin:1.5rem 0 .4rem;color:var(--soft);font-weight:600}
p{max-width:44rem;margin:.6rem 0}
.soft{color:var(--soft)}
section{margin-top:1.6rem;padding-top:1.6rem;border-top:1px solid var(--line)}
.path{margin:.3rem 0 .6rem;overflow-wrap:anywhere}
.path code{font-size:.95em}
.verb{font:600 .72rem/1 ui-monospace,monospace;color:var(--accent);border:1px solid currentColor;border-radius:3px;padding:.18rem .35rem;margin-right:.35rem}
pre{margin:.5rem 0;padding:.8rem 1rem;background:var(--panel);border:1px solid var(--line);border-radius:5px;white-space:pre-wrap;overflow-wrap:anywhere;line-height:1.5}
.wide{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th{text-align:left;font-weight:600;color:var(--soft);font-size:.8rem}
th,td{padding:.38rem 1rem .38rem 0;border-bottom:1px solid var(--line);vertical-align:top}
td:first-child{white-space:nowrap}
tr.in td:first-child{padding-left:1.1rem}
tr.in2 td:first-child{padding-left:2.2rem}
.must{color:var(--warn)}
.code{white-space:nowrap}
td:nth-child(2){min-width:8rem}
td:nth-child(3){min-width:6.5rem}
details{margin-top:1rem}
summary{cursor:pointer;color:var(--soft);font-size:.9rem}
@media(max-width:52rem){
.page{display:block;padding:0 1rem}
nav{position:static;max-height:none;padding:1.2rem 0 .4rem;border-bottom:1px solid var(--line);columns:2;column-gap:1.5rem}
nav div{break-inside:avoid}
thead{display:none}
table,tbody,tr,td{display:block}
td{border:0;padding:.1rem 0}
tr{padding:.5rem 0;border-bottom:1px solid var(--line)}
tr.in{padding-left:1.1rem}tr.in2{padding-left:2.2rem}
tr.in td:first-child,tr.in2 td:first-child{padding-left:0}
td:nth-child(n){min-width:0}
td:empty{display:none}
}
@media print{nav{display:none}.page{display:block}}
`;

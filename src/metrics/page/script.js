(()=>{
const button=document.querySelector('button'),state=document.querySelector('#state');
let paused=false;
button.hidden=false;
button.onclick=()=>{paused=!paused;button.textContent=paused?'Resume':'Pause';refresh();};
async function refresh(){
if(paused||document.hidden)return;
try{
const answer=await fetch(location.href,{headers:{Accept:'text/html'},cache:'no-store'});
if(!answer.ok)throw 0;
const fresh=new DOMParser().parseFromString(await answer.text(),'text/html');
const main=fresh.querySelector('main');
if(!main)throw 0;
const parts=fresh.querySelectorAll('[data-part]');
// A section comes with the first guarded route.
if(parts.length!==document.querySelectorAll('[data-part]').length){
document.querySelector('main').replaceWith(main);
}
for(const part of parts){
const old=document.getElementById(part.id);
if(old&&old.innerHTML!==part.innerHTML)old.innerHTML=part.innerHTML;
}
state.textContent='';
}catch(e){state.textContent='nginx does not answer. These are old numbers.';}
}
setInterval(refresh,5000);
document.addEventListener('visibilitychange',refresh);
})();
